/// The words of a progress line; what does not fit is left out, the least needed first.
struct ProgressText {
  let label: String
  let done: Int
  let total: Int?
  let rate: Double?
  let secondsLeft: Int?
  let elapsedSeconds: Int
  let note: String

  private static let widestBar = 30
  private static let narrowestBar = 8

  private var fraction: Double? {
    guard let total, total > 0 else { return nil }
    return min(1, max(0, Double(done) / Double(total)))
  }

  /// - Parameter cells: nil: no limit.
  func fitted(to cells: Int?, unicode: Bool, bar: Bool) -> String {
    let count = Figures.grouped(done) + (total.map { "/" + Figures.grouped($0) } ?? "")
    // Never 100 % before it is so.
    let percent = fraction.map { "\(Int($0 * 100))%" } ?? ""
    let speed = rate.map { Figures.grouped(Int(min($0, 1e15))) + "/s" } ?? ""
    let time =
      secondsLeft.map { "ETA \(Figures.clock(seconds: $0))" }
      ?? Figures.clock(seconds: elapsedSeconds)
    let note = TextLayout.printable(self.note)
    let choices = [
      [percent, count, speed, time, note], [percent, count, speed, time], [percent, count, time],
      [percent, count], [percent.isEmpty ? count : percent],
    ]
    guard let cells else { return join([label] + choices[0]) }
    for words in choices {
      let text = join([label] + words)
      let room = cells - DisplayWidth.cells(text)
      if room < 0 { continue }
      guard bar, let fraction, room >= Self.narrowestBar + 4 else { return text }
      let drawn = Self.bar(fraction, cells: min(Self.widestBar, room - 4), unicode: unicode)
      return join([label, drawn] + words)
    }
    let last = join([label] + choices[choices.count - 1])
    return TextLayout.truncated(last, to: cells, ellipsis: unicode ? "…" : "")
  }

  private func join(_ words: [String]) -> String {
    words.filter { !$0.isEmpty }.joined(separator: "  ")
  }

  static func bar(_ fraction: Double, cells: Int, unicode: Bool) -> String {
    let full = Int(fraction * Double(cells))
    let (filled, empty) = unicode ? ("█", "░") : ("#", "-")
    return "[" + String(repeating: filled, count: full)
      + String(repeating: empty, count: cells - full) + "]"
  }
}
