import Record
import Testing

/// When a worker counts as dead.
@Suite struct BeatingWorkersTests {
  @Test(arguments: [
    ("2000", 6_000), ("10000", 30_000), ("1000", 5_000), ("0", 5_000), ("-3", 5_000),
    ("20000", 60_000), ("9223372036854775807", 60_000), ("soon", 30_000), (nil, 30_000),
  ])
  func threeBeatsMayBeMissed(interval: String?, longest: Int64) {
    let fields = interval.map { ["beat_interval_ms": $0] } ?? [:]
    #expect(WorkerBeat.longestSilence(fields) == longest)
  }
}
