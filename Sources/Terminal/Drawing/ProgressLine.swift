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
  package mutating func update(
    done: Int, total: Int? = nil, note: String = "", at now: UInt64
  ) {
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
