import Testing

@testable import Watching

@Suite struct WorkerRowTests {
  @Test func aWorkerIsStaleAfterThreeOfItsBeats() {
    let beat = ["beat_ms": "\(noon)"]
    for (interval, longest) in [("2000", Int64(6_000)), ("10000", 30_000)] {
      let row = worker("w1", beat.merging(["beat_interval_ms": interval]) { $1 })
      #expect(!row.isStale(at: noon + longest) && row.isStale(at: noon + longest + 1))
    }
  }
}
