import Glibc
import Synchronization
import Threads

/// An event for a program that draws a whole terminal.
package enum ScreenEvent: Sendable, Equatable {
  case key(Key)
  /// The time between two ticks is over.
  case tick
  /// The terminal has another size.
  case resized
  /// The process goes on after it was stopped, and the terminal may be as others left it.
  case resumed
  /// Somebody wants the process to be stopped for a while (SIGTSTP).
  case suspend
  /// The process ends: a signal, or the terminal is gone.
  case stop
}

/// Reads keys, signals and ticks on a thread of its own, and says them in order. Once in a
/// process's life: the signals are the process's.
package final class ScreenEvents: Sendable {
  /// How long the rest of a key may be on its way, over a slow line.
  private static let keyTimeoutMilliseconds: Int32 = 50
  /// Where the handlers write, for all of the process's life.
  fileprivate static let mailbox = Atomic<Int32>(-1)

  private let input: Int32
  private let signals: StopSignals
  private let interval: UInt64
  private let now: @Sendable () -> UInt64
  private let report: @Sendable (ScreenEvent) -> Void

  /// - Parameters:
  ///   - input: the terminal.
  ///   - signals: end it.
  ///   - interval: between two ticks; the first comes at once.
  ///   - now: monotonic nanoseconds.
  ///   - report: called on the thread, `stop` last.
  package init(
    of input: Int32, until signals: StopSignals, every interval: Duration,
    now: @escaping @Sendable () -> UInt64, report: @escaping @Sendable (ScreenEvent) -> Void
  ) {
    self.input = input
    self.signals = signals
    self.interval = UInt64(max(1, interval / .nanoseconds(1)))
    self.now = now
    self.report = report
  }

  /// False when the system has no thread or pipe left.
  package func start() -> Bool {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return false }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let descriptor = ends[0]
    Self.mailbox.store(ends[1], ordering: .releasing)
    guard let thread = SystemThread({ self.run(descriptor) }) else { return false }
    thread.detach()
    for number in [SIGWINCH, SIGCONT, SIGTSTP] { signal(number, writeToScreenMailbox) }
    return true
  }

  private func run(_ mailbox: Int32) {
    var parser = KeyParser()
    var nextTick = now()
    while true {
      let time = now()
      if time >= nextTick {
        report(.tick)
        nextTick = time &+ interval
        continue
      }
      let left = Int32(clamping: (nextTick - time) / 1_000_000 + 1)
      var watched = [
        pollfd(fd: input, events: Int16(POLLIN), revents: 0),
        pollfd(fd: mailbox, events: Int16(POLLIN), revents: 0),
        pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      let count = poll(
        &watched, 3, parser.isUndecided ? min(left, Self.keyTimeoutMilliseconds) : left)
      if signals.isRaised { return report(.stop) }
      if count == 0 { for key in parser.decide() { report(.key(key)) } }
      if count <= 0 { continue }
      if watched[1].revents != 0 { for event in Self.signalled(mailbox) { report(event) } }
      guard watched[0].revents != 0 else { continue }
      guard let bytes = Self.bytes(of: input) else { return report(.stop) }
      for key in parser.take(bytes) { report(.key(key)) }
    }
  }

  private static func signalled(_ mailbox: Int32) -> [ScreenEvent] {
    (bytes(of: mailbox) ?? []).map {
      switch Int32($0) {
      case SIGTSTP: .suspend
      case SIGCONT: .resumed
      default: .resized
      }
    }
  }

  /// Nil at the end: nobody sits before the terminal any more.
  private static func bytes(of descriptor: Int32) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 256)
    let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
    if count < 0, errno == EINTR || errno == EAGAIN { return [] }
    return count > 0 ? Array(buffer[..<count]) : nil
  }
}

/// In a signal handler only what signal-safety(7) lists may be called.
private func writeToScreenMailbox(_ number: Int32) {
  let saved = errno
  var byte = UInt8(truncatingIfNeeded: number)
  _ = write(ScreenEvents.mailbox.load(ordering: .acquiring), &byte, 1)
  errno = saved
}
