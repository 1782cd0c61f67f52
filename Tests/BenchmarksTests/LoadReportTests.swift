import Benchmarks
import Testing

@Suite struct LoadReportTests {
  /// As h2load 1.52 writes it.
  private static let output = """
    starting benchmark...
    spawning thread #0: 2 total client(s). 300000 total requests
    TLS Protocol: TLSv1.3
    progress: 10% done
    progress: 100% done

    finished in 1.91s, 157222.18 req/s, 6.60MB/s
    requests: 300000 total, 300000 started, 299990 done, 299901 succeeded, 99 failed, 99 errored
    status codes: 299901 2xx, 0 3xx, 0 4xx, 0 5xx
    req/s           :   78610.96    78980.93    78795.94      261.61   100.00%
    """

  @Test("The rate, what was answered and what succeeded are read")
  func reads() throws {
    let report = try #require(LoadReport(Self.output))
    #expect(report.requestsPerSecond == 157_222.18)
    #expect(report.done == 299_990)
    #expect(report.succeeded == 299_901)
  }

  @Test(
    "Without its end the output says nothing",
    arguments: ["finished in", "requests:", "req/s, ", "done, ", "succeeded, "])
  func incomplete(part: String) {
    let output = Self.output.split(separator: part, maxSplits: 1).joined(separator: "-")
    #expect(LoadReport(output) == nil)
  }

  @Test("Nothing is read from nothing")
  func empty() { #expect(LoadReport("") == nil) }
}
