import EventLoop
import Record
import Telemetry

/// Writes the worker's heartbeat, and says when another worker does so under the same name.
/// Confined to its lane.
final class HeartbeatWriter {
  private static let namesakeLineInterval: Duration = .seconds(60)

  private let options: PipelineOptions
  private let loop: EventLoop
  private let record: RecordStage
  private let clock: ClockWatch
  private let overdue: OverdueFanOuts
  private var hasBeaten = false
  private var nextNamesakeLine: UInt64 = 0

  init(
    options: PipelineOptions, loop: EventLoop, record: RecordStage, clock: ClockWatch,
    overdue: OverdueFanOuts
  ) {
    self.overdue = overdue
    self.options = options
    self.loop = loop
    self.record = record
    self.clock = clock
  }

  func write(_ heartbeat: Heartbeat) async {
    for lane in heartbeat.lanes { await lane.countDeadLetters() }
    do {
      let clock = String(try await clock.compare())
      let figures = await heartbeat.figures()
      let fields = heartbeat.fields(figures) + [("clock_ahead_ms", clock)]
      let last = try await record.heartbeat(
        worker: options.workerID, instance: options.instance, fields)
      sayWhoElseBeats(last)
      // One worker looks for all. Who waits for Kafka cannot tell what nobody works on.
      if try await record.appendSeriesPoint(now: options.wallClock()), figures.waitsFor.isEmpty {
        try await overdue.look()
      }
    } catch {
      // The next beat comes soon; that Redis is away is said by whoever needs it.
      options.log.debug("no heartbeat", ["error": .text("\(error)")])
    }
  }

  /// After a restart the last beat was an earlier instance's, once. Later it is ours, unless
  /// another one lives.
  private func sayWhoElseBeats(_ last: String?) {
    defer { hasBeaten = true }
    guard hasBeaten, let last, last != options.instance, loop.now >= nextNamesakeLine else {
      return
    }
    nextNamesakeLine = loop.now &+ Self.namesakeLineInterval.nanoseconds
    options.log.warning(
      "another worker has the same id and overwrites this one's heartbeat: give each its own "
        + "worker.id",
      ["worker": .text(options.workerID), "instance": .text(last)])
  }
}
