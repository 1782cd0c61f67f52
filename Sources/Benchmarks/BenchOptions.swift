import EventLoop
import Processes
import Terminal

/// The options of a bench, and the console that shows its progress.
package struct BenchOptions: Sendable {
  let runs: Int
  let pushes: Int
  let events: Int
  let lanes: Int
  let templates: String
  let talk: Console

  package init(runs: Int, pushes: Int, events: Int, lanes: Int, templates: String, talk: Console) {
    self.runs = runs
    self.pushes = pushes
    self.events = events
    self.lanes = lanes
    self.templates = templates
    self.talk = talk
  }

  func note(_ section: String, _ run: Int, _ text: String) {
    talk.line("  \(TextLayout.padded(section, to: 8)) \(run)/\(runs)  \(text)")
  }

  /// Shows the progress of a seeding.
  func seeding(
    _ what: String, _ total: Int,
    _ body: (_ progress: (Int) -> Void) async throws(LocalRunError) -> Void
  ) async throws(LocalRunError) {
    var line = ProgressLine(
      "  seeding ", total: total, on: talk, at: EventLoop.monotonicNanoseconds())
    try await body { line.update(done: $0, at: EventLoop.monotonicNanoseconds()) }
    line.finish(note: what, at: EventLoop.monotonicNanoseconds())
  }
}
