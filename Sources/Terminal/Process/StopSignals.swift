import Glibc
import Synchronization
import Threads

/// SIGTERM, SIGINT and SIGHUP as something to wait for instead of something that kills; SIGHUP may
/// have another meaning (`whenHungUp`). A second
/// one ends the process at once, for whoever does not want to wait for a clean end.
///
/// By handlers, not by blocking: signals go to any thread that does not block them, and who makes
/// the threads of a process (the Swift runtime, librdkafka) is not ours to say. A child that is
/// started gets the default back by itself.
package final class StopSignals: Sendable {
  private struct State {
    var isRaised = false
    var actions: [@Sendable () -> Void] = []
    /// Nil: SIGHUP is one of the signals to stop.
    var hangUp: (@Sendable () -> Void)?
  }

  private let state = ThreadLock(State())
  /// The process's own, from `catchAll` on.
  private static let caught = ThreadLock<StopSignals?>(nil)
  package static var current: StopSignals? { caught.withLock { $0 } }
  /// Can be read from the first signal on, for whoever waits with poll(2); -1 where there is no
  /// pipe left. Open for the process's life.
  package let descriptor: Int32
  private let writeEnd: Int32
  /// Where the handlers write, for all of the process's life; -1 before the first `catchAll`.
  fileprivate static let mailbox = Atomic<Int32>(-1)

  private init() {
    var ends: [Int32] = [-1, -1]
    if pipe(&ends) == 0 { for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) } }
    (descriptor, writeEnd) = (ends[0], ends[1])
  }

  /// Catches the signals from now on. Once in a process's life.
  package static func catchAll() -> StopSignals {
    let signals = StopSignals()
    _ = hadTerminal
    caught.withLock { $0 = signals }
    var ends: [Int32] = [-1, -1]
    // Without pipe or thread the signals kill, as they do by default.
    guard pipe(&ends) == 0 else { return signals }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    mailbox.store(ends[1], ordering: .releasing)
    let reader = SignalReader(signals, descriptor: ends[0])
    guard let thread = SystemThread({ reader.run() }) else { return signals }
    thread.detach()
    for number in [SIGTERM, SIGINT] { signal(number, writeToMailbox) }
    // A closed terminal asks for a clean end too, unless `nohup` has said that it does not.
    let earlier = signal(SIGHUP, writeToMailbox)
    let isIgnored = unsafeBitCast(earlier, to: UInt.self) == unsafeBitCast(SIG_IGN, to: UInt.self)
    if isIgnored { signal(SIGHUP, SIG_IGN) }
    return signals
  }

  /// From now on SIGHUP does this and stops nothing, unless the terminal of this process is gone.
  /// Called from the signals' thread. A process under `nohup` hears no SIGHUP.
  package func whenHungUp(_ action: @escaping @Sendable () -> Void) {
    state.withLock { $0.hangUp = action }
  }

  /// A closed terminal hangs up on everybody who was started in it, and cannot be opened again.
  private static let hadTerminal = hasTerminal

  private static var hasTerminal: Bool {
    let descriptor = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    close(descriptor)
    return true
  }

  /// The action of SIGHUP instead of stopping the process; nil where it stops it.
  fileprivate var hangUpAction: (@Sendable () -> Void)? {
    guard !Self.hadTerminal || Self.hasTerminal else { return nil }
    return state.withLock { $0.hangUp }
  }

  package var isRaised: Bool { state.withLock { $0.isRaised } }

  /// As if a signal had come: who waits goes on.
  package func raise() { raised() }

  /// Suspends until the first signal; returns at once after it.
  package func wait() async {
    await withCheckedContinuation { continuation in
      onFirst { continuation.resume() }
    }
  }

  /// Called from the signals' thread at the first one, or at once after it.
  package func onFirst(_ action: @escaping @Sendable () -> Void) {
    let isRaised = state.withLock { state in
      if !state.isRaised { state.actions.append(action) }
      return state.isRaised
    }
    if isRaised { action() }
  }

  fileprivate func raised() {
    let actions = state.withLock { state in
      state.isRaised = true
      defer { state.actions = [] }
      return state.actions
    }
    var byte: UInt8 = 1
    if writeEnd >= 0 { _ = write(writeEnd, &byte, 1) }
    for action in actions { action() }
  }
}

/// In a signal handler only what signal-safety(7) lists may be called.
private func writeToMailbox(_ number: Int32) {
  let saved = errno
  var byte = UInt8(truncatingIfNeeded: number)
  _ = write(StopSignals.mailbox.load(ordering: .acquiring), &byte, 1)
  errno = saved
}

private struct SignalReader: Sendable {
  private let signals: StopSignals
  private let descriptor: Int32

  init(_ signals: StopSignals, descriptor: Int32) {
    self.signals = signals
    self.descriptor = descriptor
  }

  func run() {
    guard next() != nil else { return }
    signals.raised()
    guard let number = next() else { return }
    // A terminal that takes nothing is not given back: a third signal kills, and so does the time.
    for number in [SIGTERM, SIGINT, SIGHUP, SIGALRM] { signal(number, SIG_DFL) }
    alarm(Self.leaveSeconds)
    FullScreen.leaveEntered()
    kill(getpid(), number)
  }

  /// To give the terminal back before the process ends at once.
  private static let leaveSeconds: UInt32 = 2

  /// The next signal to stop.
  private func next() -> Int32? {
    var byte: UInt8 = 0
    while true {
      let count = read(descriptor, &byte, 1)
      if count == 1 {
        guard Int32(byte) == SIGHUP, let action = signals.hangUpAction else { return Int32(byte) }
        action()
      } else if count == 0 || errno != EINTR {
        return nil
      }
    }
  }
}
