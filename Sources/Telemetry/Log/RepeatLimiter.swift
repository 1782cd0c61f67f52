/// Keeps a message that comes again and again from filling the log: within a window the first few
/// are written, the rest counted and summed up when the window ends. A pure machine; time is
/// passed in.
///
/// What is said of one event is no repetition of what was said of another: an operator who looks
/// for one event's lines must find them.
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
  /// Events' ids are shorter. What is longer shares the message's lines.
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
