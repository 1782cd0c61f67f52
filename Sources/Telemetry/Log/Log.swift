import Synchronization
import Threads

/// Lines for operators. Cheap to hand around (a pointer), callable from any thread, never blocking.
/// Neither message nor fields are evaluated when the level is off.
///
/// The message is a constant sentence and the fields carry what varies: repeats are recognised by
/// the message and by the field `event`. A line of level info or notice that names an event is
/// always written.
package struct Log: Sendable {
  private let core: LogCore

  package init(
    _ options: LogOptions = LogOptions(), sink: any LogSink = DescriptorSink.standardError(),
    clock: LogClock = .system
  ) {
    core = LogCore(options, sink: sink, clock: clock)
  }

  package func error(
    _ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields = [:]
  ) { log(.error, message(), fields()) }

  package func warning(
    _ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields = [:]
  ) { log(.warning, message(), fields()) }

  package func notice(
    _ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields = [:]
  ) { log(.notice, message(), fields()) }

  package func info(
    _ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields = [:]
  ) { log(.info, message(), fields()) }

  package func debug(
    _ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields = [:]
  ) { log(.debug, message(), fields()) }

  package func log(
    _ level: LogLevel, _ message: @autoclosure () -> String,
    _ fields: @autoclosure () -> LogFields = [:]
  ) {
    guard core.isEnabled(level) else { return }
    core.log(level, message(), fields())
  }

  package func isEnabled(_ level: LogLevel) -> Bool { core.isEnabled(level) }

  /// The label under which this deployment shows a token (its hex digits as text).
  package func label(_ token: String) -> LogValue {
    .token(TokenLabel(token, key: core.tokenLabelKey))
  }

  /// Writes the summaries of repeats that are still being counted. To be called before the process
  /// ends.
  package func flush() { core.flush() }

  package var statistics: LogStatistics { core.statistics }
}

private final class LogCore: Sendable {
  private let maximum: LogLevel
  let tokenLabelKey: TokenLabelKey
  private let writer: LogLineWriter
  private let sink: any LogSink
  private let clock: LogClock
  private let limiter: ThreadLock<RepeatLimiter>
  private let windowSeconds: Int
  private let written = InlineArray<5, Atomic<Int>> { _ in Atomic(0) }
  private let dropped = Atomic(0)
  private let untold = Atomic(0)
  private let suppressed = Atomic(0)

  init(_ options: LogOptions, sink: any LogSink, clock: LogClock) {
    maximum = options.level
    tokenLabelKey = options.tokenLabelKey
    writer = LogLineWriter(format: options.format, scrubber: Scrubber(key: options.tokenLabelKey))
    self.sink = sink
    self.clock = clock
    let window = UInt64(max(0, options.repeatWindow / .nanoseconds(1)))
    limiter = ThreadLock(RepeatLimiter(limit: options.repeatLimit, windowNanoseconds: window))
    windowSeconds = Int(window / 1_000_000_000)
  }

  func isEnabled(_ level: LogLevel) -> Bool { level <= maximum }

  func log(_ level: LogLevel, _ message: String, _ fields: LogFields) {
    let key = RepeatLimiter.Key(level: level, message: message, event: Self.event(of: fields))
    let now = clock.monotonicNanoseconds()
    let (writes, ended) = limiter.withLock { $0.admit(key, at: now) }
    tell(ended)
    if writes {
      write(level, message, fields)
    } else {
      suppressed.add(1, ordering: .relaxed)
    }
  }

  func flush() { tell(limiter.withLock { $0.flush() }) }

  private func tell(_ summaries: [RepeatLimiter.Summary]) {
    for summary in summaries {
      let times = summary.count == 1 ? "once more" : "\(Self.grouped(summary.count)) times more"
      var fields: LogFields = ["repeated": .integer(summary.count)]
      if let event = summary.event { fields[Self.eventField] = .text(event) }
      write(
        summary.level, "\(summary.message) (repeated \(times) within \(windowSeconds) s)", fields)
    }
  }

  /// The field that names the event a line is about.
  private static let eventField = "event"

  private static func event(of fields: LogFields) -> String? {
    guard case .text(let event)? = fields[eventField] else { return nil }
    return event
  }

  private func write(_ level: LogLevel, _ message: String, _ fields: LogFields) {
    let lost = untold.exchange(0, ordering: .relaxed)
    if lost > 0, !send(.warning, "log lines were dropped", ["dropped": .integer(lost)]) {
      untold.add(lost, ordering: .relaxed)
    }
    if send(level, message, fields) {
      written[Int(level.rawValue)].add(1, ordering: .relaxed)
    } else {
      dropped.add(1, ordering: .relaxed)
      untold.add(1, ordering: .relaxed)
    }
  }

  private func send(_ level: LogLevel, _ message: String, _ fields: LogFields) -> Bool {
    writer.line(level, message, fields, milliseconds: clock.wallMilliseconds())
      .withUnsafeBytes { sink.write($0) }
  }

  var statistics: LogStatistics {
    var byLevel: [LogLevel: Int] = [:]
    for level in LogLevel.allCases {
      byLevel[level] = written[Int(level.rawValue)].load(ordering: .relaxed)
    }
    return LogStatistics(
      written: byLevel, dropped: dropped.load(ordering: .relaxed),
      suppressed: suppressed.load(ordering: .relaxed))
  }

  private static func grouped(_ value: Int) -> String {
    var digits = String(value)
    var result = ""
    while digits.count > 3 {
      result = "," + digits.suffix(3) + result
      digits.removeLast(3)
    }
    return digits + result
  }
}

/// The times a log needs; a test passes its own.
package struct LogClock: Sendable {
  let wallMilliseconds: @Sendable () -> Int64
  let monotonicNanoseconds: @Sendable () -> UInt64

  package init(
    wallMilliseconds: @escaping @Sendable () -> Int64,
    monotonicNanoseconds: @escaping @Sendable () -> UInt64
  ) {
    self.wallMilliseconds = wallMilliseconds
    self.monotonicNanoseconds = monotonicNanoseconds
  }

  package static let system = LogClock(
    wallMilliseconds: { WallClock.nowMilliseconds() },
    monotonicNanoseconds: { MonotonicClock.nowNanoseconds() })
}

package struct LogOptions: Sendable {
  /// The least important level that is written.
  package var level: LogLevel = .info
  package var format: LogFormat
  /// One per deployment, or random for this process.
  var tokenLabelKey: TokenLabelKey
  /// Lines of the same message, and about the same event, per window; further ones are counted and
  /// summed up. 0: no limit.
  package var repeatLimit = 20
  var repeatWindow: Duration = .seconds(10)

  package init(
    level: LogLevel = .info, format: LogFormat = .automatic(),
    tokenLabelKey: TokenLabelKey = .random()
  ) {
    self.level = level
    self.format = format
    self.tokenLabelKey = tokenLabelKey
  }
}

/// Keeps a message that comes again and again from filling the log: within a window the first few
/// are written, the rest counted and summed up when the window ends. A pure machine; time is passed
/// in.
///
/// A line about one event does not repeat a line about another: an operator who looks for one
/// event's lines must find them.
struct RepeatLimiter {
  struct Key: Hashable {
    let level: LogLevel
    let message: String
    /// The event that the line is about, if any.
    var event: String? = nil

    /// One line for each step that an event takes, however many events there are: they are as
    /// many as the records that were read, and each of them may be the one that is looked for.
    fileprivate var isStepOfAnEvent: Bool { event != nil && (level == .info || level == .notice) }
  }

  struct Summary: Equatable {
    let level: LogLevel
    let message: String
    var event: String? = nil
    let count: Int
  }

  private struct Window {
    let endsAt: UInt64
    var written: Int
    var suppressed: Int
  }

  /// Messages are literals in the source, a few hundred at most; beyond this many at once they are
  /// not limited.
  static let maximumKeys = 512
  /// Messages about events, each event for itself. Beyond this many at once all further events
  /// share a message's lines: a fault that hits thousands of events is told, not listed.
  static let maximumEventKeys = 512
  /// Events' ids are shorter. Longer ones share the message's lines.
  static let maximumEventBytes = 256

  private let limit: Int
  private let windowNanoseconds: UInt64
  private var windows: [Key: Window] = [:]
  private var eventWindows = 0
  private var nextEnd: UInt64 = .max

  /// - Parameter limit: lines per message and window; 0: no limit.
  init(limit: Int, windowNanoseconds: UInt64) {
    self.limit = limit
    self.windowNanoseconds = windowNanoseconds
  }

  /// Whether the line is to be written, and the summaries of the windows that have ended.
  mutating func admit(_ line: Key, at now: UInt64) -> (writes: Bool, ended: [Summary]) {
    guard limit > 0 else { return (true, []) }
    let ended = now >= nextEnd ? sweep(at: now) : []
    guard !line.isStepOfAnEvent else { return (true, ended) }
    let key = place(of: line)
    if var window = windows[key] {
      let writes = window.written < limit
      if writes { window.written += 1 } else { window.suppressed += 1 }
      windows[key] = window
      return (writes, ended)
    }
    if key.event != nil || windows.count - eventWindows < Self.maximumKeys {
      let end = now &+ windowNanoseconds
      windows[key] = Window(endsAt: end, written: 1, suppressed: 0)
      if key.event != nil { eventWindows += 1 }
      nextEnd = min(nextEnd, end)
    }
    return (true, ended)
  }

  /// The line's own key, or that of its message while there is no room for its event.
  private func place(of line: Key) -> Key {
    guard let event = line.event else { return line }
    let hasRoom =
      event.utf8.count <= Self.maximumEventBytes
      && (eventWindows < Self.maximumEventKeys || windows[line] != nil)
    return hasRoom ? line : Key(level: line.level, message: line.message)
  }

  /// Ends all windows.
  mutating func flush() -> [Summary] { sweep(at: .max) }

  private mutating func sweep(at now: UInt64) -> [Summary] {
    var ended: [Summary] = []
    for (key, window) in windows where window.endsAt <= now {
      windows[key] = nil
      if key.event != nil { eventWindows -= 1 }
      guard window.suppressed > 0 else { continue }
      ended.append(
        Summary(
          level: key.level, message: key.message, event: key.event, count: window.suppressed))
    }
    nextEnd = windows.values.map(\.endsAt).min() ?? .max
    return ended.sorted { ($0.message, $0.event ?? "") < ($1.message, $1.event ?? "") }
  }
}

/// Counts of a log so far.
package struct LogStatistics: Sendable, Equatable {
  /// Lines written, by level.
  package let written: [LogLevel: Int]
  /// Lines that the sink did not take.
  package let dropped: Int
  /// Repeats that were counted instead of written.
  package let suppressed: Int

  package init(written: [LogLevel: Int], dropped: Int = 0, suppressed: Int = 0) {
    self.written = written
    self.dropped = dropped
    self.suppressed = suppressed
  }
}
