import Record
import Telemetry
import Terminal

/// One outcome for people and for programs.
package enum TapLine {
  private struct Column {
    let title: String
    let cells: Int
    var alignment = TextLayout.Alignment.left
    let text: @Sendable (TapSample) -> String
  }

  /// The first three are always there; the others as far as they fit.
  private static let columns: [Column] = [
    Column(title: "TIME", cells: 12) { time($0.at) },
    Column(title: "OUTCOME", cells: 10) { $0.outcome },
    Column(title: "REASON", cells: 18) { $0.reason.isEmpty ? "-" : $0.reason },
    Column(title: "MS", cells: 8, alignment: .right) {
      $0.milliseconds.map { Figures.fixed($0) } ?? "-"
    },
    Column(title: "TRIES", cells: 5, alignment: .right) { String($0.attempts) },
    Column(title: "TOKEN", cells: 16) { $0.token.isEmpty ? "-" : $0.token },
    Column(title: "PLATFORM", cells: 15) { platform($0) },
    Column(title: "EVENT", cells: 24) { $0.event },
    Column(title: "STREAMER", cells: 12) { $0.streamer },
    Column(title: "APP", cells: 20) { $0.app },
    Column(title: "WORKER", cells: 12) { $0.worker },
  ]

  /// - Parameter width: nil: nothing is left out or cut.
  package static func title(width: Int?) -> String {
    line(width, paint: Paint(coloured: false, unicode: true)) { $0.title }
  }

  package static func text(_ sample: TapSample, width: Int?, paint: Paint) -> String {
    line(width, paint: paint, outcome: sample.outcome) { $0.text(sample) }
  }

  private static func line(
    _ width: Int?, paint: Paint, outcome: String? = nil, _ text: (Column) -> String
  ) -> String {
    var line = ScreenLine()
    for (index, column) in columns.enumerated() {
      let gap = index == 0 ? "" : "  "
      let free = (width ?? .max) - line.cells - gap.utf8.count
      guard index < 3 || column.cells <= free else { break }
      var cell = TextLayout.printable(text(column))
      if width != nil {
        cell = TextLayout.truncated(
          cell, to: max(0, min(column.cells, free)), ellipsis: paint.unicode ? "…" : "")
      }
      let cells = min(column.cells, max(0, free))
      line.add(gap)
      line.add(
        TextLayout.padded(cell, to: cells, column.alignment),
        column.title == "OUTCOME" ? style(of: outcome) : nil)
    }
    var text = line.text(width: width ?? .max, paint)
    while text.last == " " { text.removeLast() }
    return text
  }

  private static func style(of outcome: String?) -> Style? {
    switch outcome {
    case "accepted": .green
    case "rejected", "expired": .red
    case "cancelled", "suppressed": .yellow
    default: nil
    }
  }

  /// UTC, without the day.
  private static func time(_ milliseconds: Int64) -> String {
    String(WallClock.rfc3339(milliseconds).dropFirst(11).prefix(12))
  }

  private static func platform(_ sample: TapSample) -> String {
    guard !sample.platform.isEmpty else { return "-" }
    return sample.environment.isEmpty
      ? sample.platform : "\(sample.platform) \(sample.environment)"
  }

  /// Unknown values are null.
  package static func json(_ sample: TapSample) -> JSONOutput {
    func known(_ text: String) -> JSONOutput { text.isEmpty ? .null : .text(text) }
    return [
      "at": .text(WallClock.rfc3339(sample.at)), "at_ms": .integer(Int(sample.at)),
      "event": .text(sample.event), "streamer": .text(sample.streamer),
      "platform": known(sample.platform), "environment": known(sample.environment),
      "app": .text(sample.app), "outcome": .text(sample.outcome), "reason": known(sample.reason),
      "attempts": .integer(sample.attempts),
      "answer_ms": sample.milliseconds.map { .number($0, digits: 1) } ?? .null,
      "token": known(sample.token), "worker": .text(sample.worker),
    ]
  }
}
