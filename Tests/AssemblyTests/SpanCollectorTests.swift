import Settings
import Telemetry
import Testing

@testable import Assembly

@Suite struct SpanCollectorTests {
  private static func problem(_ change: (inout Settings.Traces) -> Void) -> String? {
    var traces = Settings.defaults.traces
    traces.endpoint = "http://collector:4318/v1/traces"
    change(&traces)
    do throws(SettingsError) {
      _ = try SpanCollector(traces, wallClock: { 0 })
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test func withoutAnEndpointThereIsNone() throws {
    #expect(try SpanCollector(Settings.defaults.traces, wallClock: { 0 }) == nil)
    let options = try Assembly.spanOptions(.defaults, version: "1", wallClock: { 0 })
    #expect(options == nil)
  }

  @Test func headersAreAsOpenTelemetryWritesThem() throws {
    let fields = try #require(SpanCollector.fields("Authorization=Basic%20YQ==, x-tenant=a,x-y=1%"))
    #expect(fields.map(\.name) == ["authorization", "x-tenant", "x-y"])
    #expect(fields.map(\.value) == ["Basic YQ==", "a", "1%"])
    #expect(SpanCollector.fields("")?.isEmpty == true)
    for text in ["x", "=v", "a b=c", "x=%0d%0aHost:%20b", "x=%ff"] {
      #expect(SpanCollector.fields(text) == nil, "\(text)")
    }
  }

  @Test func mistakesAreNamedAndSecretsAreNot() throws {
    #expect(Self.problem { _ in } == nil)
    let host = try #require(Self.problem { $0.endpoint = "http://:0/x" })
    #expect(host.contains("traces.endpoint"))
    let headers = try #require(Self.problem { $0.headers = Secret("hush=\n") })
    #expect(headers.contains("traces.headers") && !headers.contains("hush"))
  }
}
