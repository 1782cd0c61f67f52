/// A long task in one line: bar, count, rate, time left. Drawn over itself on a terminal, written
/// as plain lines now and then elsewhere. Time is passed in (monotonic nanoseconds); nothing here
/// has a clock or a timer.
package struct ProgressLine {
  package struct Options: Sendable {
    /// A terminal is redrawn no more often; faster flickers and costs the task its CPU.
    var redrawInterval: Duration = .milliseconds(100)
    /// Elsewhere a line is written no more often: logs of a long run stay short.
    package var plainInterval: Duration = .seconds(5)
    package init() {}
  }

  private let console: Console
  private let label: String
  private let startedAt: UInt64
  private let doneBefore: Int
  private let interval: UInt64
  private var total: Int?
  private var done = 0
  private var note = ""
  private var meter: RateMeter
  private var drawnAt: UInt64?
  private var isOnScreen = false
  private var isFinished = false

  /// - Parameters:
  ///   - total: nil where the end is not known: no bar and no time left then.
  ///   - done: what was done before the task is looked at, which no rate is made of.
  package init(
    _ label: String, total: Int?, done: Int = 0, on console: Console, at now: UInt64,
    options: Options = Options()
  ) {
    self.console = console
    self.label = TextLayout.printable(label)
    self.total = total
    startedAt = now
    doneBefore = done
    meter = RateMeter(at: now, count: done)
    let chosen =
      console.capabilities.redraws ? options.redrawInterval : options.plainInterval
    interval = UInt64(max(0, chosen / .nanoseconds(1)))
  }

  /// Takes the count so far and draws when it is time. Cheap when it is not.
  package mutating func update(done: Int, total: Int? = nil, note: String = "", at now: UInt64) {
    guard !isFinished else { return }
    self.done = done
    if let total { self.total = total }
    self.note = note
    meter.record(done, at: now)
    if let drawnAt, now < drawnAt &+ interval { return }
    drawnAt = now
    draw(at: now)
  }

  /// Draws the last state, with the mean rate instead of the present one, and leaves it standing.
  package mutating func finish(note: String = "", at now: UInt64) {
    guard !isFinished else { return }
    isFinished = true
    self.note = note
    let line = ProgressText(
      label: label, done: done, total: total,
      rate: Self.mean(done - doneBefore, nanoseconds: now &- startedAt), secondsLeft: nil,
      elapsedSeconds: Int((now &- startedAt) / 1_000_000_000), note: note)
    show(line, andStay: true)
  }

  /// Takes the line off the screen, so that other words can be written; the next update draws it
  /// again.
  package mutating func clear() {
    guard isOnScreen else { return }
    console.write("\r\u{1B}[K")
    isOnScreen = false
    drawnAt = nil
  }

  private mutating func draw(at now: UInt64) {
    let rate = meter.perSecond
    var left: Int?
    if let total, let rate, rate > 0, total > done {
      let seconds = Double(total - done) / rate
      left = seconds < 360_000 ? Int(seconds.rounded(.up)) : nil
    }
    show(
      ProgressText(
        label: label, done: done, total: total, rate: rate, secondsLeft: left,
        elapsedSeconds: Int((now &- startedAt) / 1_000_000_000), note: note), andStay: false)
  }

  private mutating func show(_ line: ProgressText, andStay: Bool) {
    guard console.capabilities.redraws else {
      console.line(line.fitted(to: nil, unicode: console.capabilities.unicode, bar: false))
      return
    }
    // The last column stays free: writing into it makes some terminals wrap.
    let text = line.fitted(
      to: max(1, console.width - 1), unicode: console.capabilities.unicode, bar: true)
    console.write("\r\(text)\u{1B}[K" + (andStay ? "\n" : ""))
    isOnScreen = !andStay
  }

  private static func mean(_ count: Int, nanoseconds: UInt64) -> Double? {
    nanoseconds == 0 ? nil : Double(count) * 1e9 / Double(nanoseconds)
  }
}

/// The rate over the last few seconds: young enough to show a stall, old enough not to jump.
struct RateMeter {
  private struct Sample {
    var at: UInt64
    var count: Int
  }

  private static let spacing: UInt64 = 250_000_000
  /// 20 samples a quarter of a second apart: five seconds.
  private static let maximumSamples = 20
  private var samples: [Sample]
  private var latest: Sample

  init(at now: UInt64, count: Int = 0) {
    latest = Sample(at: now, count: count)
    samples = [latest]
  }

  mutating func record(_ count: Int, at now: UInt64) {
    guard now >= latest.at else { return }
    // A counter that went back was reset: what was measured before it says nothing now.
    if count < latest.count { samples = [Sample(at: now, count: count)] }
    latest = Sample(at: now, count: count)
    if let last = samples.last, now - last.at >= Self.spacing {
      if samples.count == Self.maximumSamples { samples.removeFirst() }
      samples.append(latest)
    }
  }

  /// Nil until there are two points in time.
  var perSecond: Double? {
    guard let first = samples.first, latest.at > first.at else { return nil }
    return Double(latest.count - first.count) * 1e9 / Double(latest.at - first.at)
  }
}

/// The words of a progress line; what does not fit is left out, the least needed first.
package struct ProgressText {
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

  package static func bar(_ fraction: Double, cells: Int, unicode: Bool) -> String {
    let full = Int(fraction * Double(cells))
    let (filled, empty) = unicode ? ("█", "░") : ("#", "-")
    return "[" + String(repeating: filled, count: full)
      + String(repeating: empty, count: cells - full) + "]"
  }
}
