/// Keeps a message that comes again and again from filling the log: within a window the first few
/// are written, the rest counted and summed up when the window ends. A pure machine; time is
/// passed in.
struct RepeatLimiter {
  struct Key: Hashable {
    let level: LogLevel
    let message: String
  }

  struct Summary: Equatable {
    let level: LogLevel
    let message: String
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

  private let limit: Int
  private let windowNanoseconds: UInt64
  private var windows: [Key: Window] = [:]
  private var nextEnd: UInt64 = .max

  /// - Parameter limit: lines per message and window; 0: no limit.
  init(limit: Int, windowNanoseconds: UInt64) {
    self.limit = limit
    self.windowNanoseconds = windowNanoseconds
  }

  /// Whether the line is to be written, and the summaries of the windows that have ended.
  mutating func admit(_ key: Key, at now: UInt64) -> (writes: Bool, ended: [Summary]) {
    guard limit > 0 else { return (true, []) }
    let ended = now >= nextEnd ? sweep(at: now) : []
    if var window = windows[key] {
      let writes = window.written < limit
      if writes { window.written += 1 } else { window.suppressed += 1 }
      windows[key] = window
      return (writes, ended)
    }
    if windows.count < Self.maximumKeys {
      let end = now &+ windowNanoseconds
      windows[key] = Window(endsAt: end, written: 1, suppressed: 0)
      nextEnd = min(nextEnd, end)
    }
    return (true, ended)
  }

  /// Ends all windows.
  mutating func flush() -> [Summary] { sweep(at: .max) }

  private mutating func sweep(at now: UInt64) -> [Summary] {
    var ended: [Summary] = []
    for (key, window) in windows where window.endsAt <= now {
      windows[key] = nil
      guard window.suppressed > 0 else { continue }
      ended.append(Summary(level: key.level, message: key.message, count: window.suppressed))
    }
    nextEnd = windows.values.map(\.endsAt).min() ?? .max
    return ended.sorted { $0.message < $1.message }
  }
}
