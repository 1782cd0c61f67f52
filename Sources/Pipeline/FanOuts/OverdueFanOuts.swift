import Keyspace
import Record

/// Ends fan-outs of which the rest is lost: their event is over, and nobody works on them. Whatever
/// way their records went, what is not settled counts as dead letters, so that each fan-out comes
/// to its end; a record that comes all the same corrects that. Confined to its lane.
final class OverdueFanOuts {
  /// Some worker looks at every point of the series. When none has for so long, what came of it
  /// nobody could see.
  private static let longestGap = Duration.seconds(6 * Keyspace.seriesIntervalSeconds)
  /// Names in one call of a script.
  private static let window = 128

  private let options: PipelineOptions
  private let record: RecordStage
  private let endings: FanOutEndings
  private var isLooking = false

  init(options: PipelineOptions, record: RecordStage, endings: FanOutEndings) {
    self.options = options
    self.record = record
    self.endings = endings
  }

  func look() async throws(RecordError) {
    guard !isLooking else { return }
    isLooking = true
    defer { isLooking = false }
    // The time in which stragglers, and what a dead worker has left, are read again.
    let overdue = try await record.overdueFanOuts(
      after: options.straggleDelay + options.adoptAfter, lookedAtEvery: Self.longestGap)
    for fanOut in overdue {
      do throws(RecordError) {
        try await end(fanOut)
      } catch {
        // Keys of one event that hold something else must not keep the others running.
        if error.isTransient { throw error }
        options.log.debug(
          "fan-out not ended", ["event": .text(fanOut.event), "error": .text("\(error)")])
      }
    }
  }

  private func end(_ fanOut: KnownFanOut) async throws(RecordError) {
    guard let open = try await record.openSegments(of: fanOut) else { return }
    let names = open.names
    for first in stride(from: 0, to: names.count, by: Self.window) {
      let some = Array(names[first..<min(first + Self.window, names.count)])
      let figures = try await record.noteLost(some, of: fanOut, now: options.wallClock())
      if let figures { endings.note(fanOut.event, figures, rest: .isLost) }
    }
  }
}
