import Glibc
import TestBed
import Testing

@Suite struct BedTests {
  /// As after a test that threw: nobody stops the worker but the bed.
  @Test func aBedStopsTheWorkersThatItStarted() async throws {
    let sink = try await {
      let bed = try await WorkerBed()
      _ = try await bed.startWorker()
      try await bed.ready()
      return bed.sink
    }()
    let deadline = ContinuousClock.now + .seconds(30)
    while !sink.lines.contains(where: { $0.contains(#""msg":"stopped""#) }),
      ContinuousClock.now < deadline
    {
      _ = poll(nil, 0, 20)
    }
    #expect(
      sink.lines.contains { $0.contains(#""everything_done":true"#) }, "\(sink.lines.suffix(3))")
  }
}
