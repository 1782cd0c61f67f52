import Ingest
import Kafka
import Model
import Record
import Telemetry

/// Writes what segments leave behind. Confined to its lane.
final class StragglerWriter {
  private let options: PipelineOptions
  private let writer: RecordWriter
  private let labels: StragglerLabels
  private let counters: WorkerCounters

  init(
    options: PipelineOptions, writer: RecordWriter, labels: StragglerLabels,
    counters: WorkerCounters
  ) {
    self.options = options
    self.writer = writer
    self.labels = labels
    self.counters = counters
  }

  /// Writes the pushes that left without an outcome into records of their own; the segment's mark
  /// makes them count.
  func write(_ run: SegmentRun) async throws {
    let pushes = run.tally.stragglers
    run.tally.stragglers = []
    run.unwritten = pushes.count
    defer { run.unwritten = 0 }
    // The last is written first.
    var lists = Array(StragglerRecord.lists(pushes).reversed())
    while let list = lists.popLast() {
      let segment = run.segment.straggling(list, number: options.randomNumber())
      let (key, value) = SegmentRecord.encode(segment)
      do {
        try await writer.publish(
          options.ingest.stragglersTopic, key, value, labels.label(for: segment).headers)
      } catch let error as KafkaError {
        // The broker's limit is below ours.
        let half = list.count / 2
        if half > 0 {
          lists += [Array(list[half...]), Array(list[..<half])]
        } else {
          giveUp(list[0], run, error)
        }
        continue
      }
      run.written.append(PlannedStragglers(segment))
      counters.add(.stragglers, list.count)
    }
  }

  private func giveUp(_ push: Straggler, _ run: SegmentRun, _ error: KafkaError) {
    let reason: RejectionReason = push.history.mayHaveArrived ? .unanswered : .unwritable
    run.tally.settlePostponed(push, as: .rejected(reason))
    options.log.error(
      "a push that must wait is given up: Kafka takes no record as large as its event's",
      [
        "event": .text(run.segment.event.id), "user": .text(push.user),
        "error": .text("\(error)"),
      ])
  }
}
