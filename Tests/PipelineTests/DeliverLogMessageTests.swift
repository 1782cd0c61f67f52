import Deliver
import Fixtures
import Telemetry
import Testing
import Transport

@testable import Pipeline

/// What an operator reads of the connections to Apple.
@Suite struct DeliverLogMessageTests {
  @Test func aPauseIsWrittenAsTheConfigurationWritesIt() {
    let sink = MemorySink()
    let log = Log(LogOptions(level: .debug, format: .json), sink: sink)
    let endpoint = Endpoint(host: "localhost", port: 1)
    log.deliver(.disconnected(endpoint, reason: "refused", retryAfter: .seconds(0.17021484375)))
    #expect(sink.lines.count == 1)
    #expect(sink.lines.allSatisfy { $0.contains("\"retry_after\":\"170ms\"") })
  }
}
