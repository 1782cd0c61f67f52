import Testing

@testable import Benchmarks

struct WrkReportTests {
  private static let output = """
    Running 8s test @ http://127.0.0.1:8099
      1 threads and 128 connections
      Thread Stats   Avg      Stdev     Max   +/- Stdev
        Latency    14.14ms    4.19ms  44.17ms   72.13%
        Req/Sec     8.98k     0.96k   12.43k    78.75%
      Latency Distribution
         50%   13.69ms
         99%   26.40ms
      71852 requests in 8.05s, 27.06MB read
    Requests/sec:   8930.85
    Transfer/sec:      3.36MB

    """

  @Test func readsWhatIsThere() throws {
    let report = try #require(WrkReport(Self.output))
    #expect(report.requests == 71_852)
    #expect(report.requestsPerSecond == 8_930.85)
    #expect(report.p99Milliseconds == 26.40)
    #expect(!report.hasErrors)
  }

  @Test(arguments: [("852.00us", 0.852), ("26.40ms", 26.4), ("1.20s", 1_200)])
  func timesHaveUnits(_ text: String, _ milliseconds: Double) throws {
    let report = try #require(WrkReport(Self.output.replacing("26.40ms", with: text)))
    #expect(abs(report.p99Milliseconds - milliseconds) < 0.000_001)
  }

  @Test(arguments: [
    "  Socket errors: connect 0, read 3, write 0, timeout 0",
    "  Non-2xx or 3xx responses: 12",
  ])
  func errorsAreTold(_ line: String) throws {
    let report = try #require(WrkReport(Self.output + line + "\n"))
    #expect(report.hasErrors)
  }

  @Test(arguments: ["99%", "requests in", "Requests/sec"])
  func aMissingNumberIsNoReport(_ what: String) {
    let lines = Self.output.split(separator: "\n").filter { !$0.contains(what) }
    #expect(WrkReport(lines.joined(separator: "\n")) == nil)
  }
}
