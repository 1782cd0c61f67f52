import EventLoop
import Glibc
import Synchronization
import Telemetry

/// Tells systemd how the process is, as sd_notify(3) says: READY, STATUS, RELOADING, STOPPING, and
/// WATCHDOG while its threads do something. On a thread of its own; it never waits for systemd.
package actor ServiceNotifier {
  /// From the start of the process to its end.
  private enum Phase { case starting, running, stopping }

  /// Until it is ready, and as long as it is.
  private static let startingInterval: Duration = .milliseconds(500)
  private static let runningInterval: Duration = .seconds(5)
  /// Between signs of life where there is no watchdog.
  private static let usualLifeInterval: Duration = .seconds(10)

  private let loop = EventLoop(name: "systemd")
  private let hasBegunToStop = Atomic(false)
  private let socket: NotifySocket
  /// Half of the watchdog's time; nil: systemd watches no sign of life.
  private let watchdogInterval: Duration?
  private var phase = Phase.starting
  /// Of a reload that is over.
  private var owesReady = false
  /// The last one that systemd took.
  private var status = ""

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  /// Nil where no service manager listens. Sends nothing yet.
  /// - Parameters:
  ///   - environment: `NOTIFY_SOCKET` (a path, or `@` and an abstract name), `WATCHDOG_USEC`
  ///     (microseconds) and `WATCHDOG_PID`, of which a missing one means this process.
  ///   - process: the id of this process.
  package init?(environment: [String: String], process: Int32) {
    guard let socket = environment["NOTIFY_SOCKET"].flatMap({ NotifySocket($0) }) else {
      return nil
    }
    self.socket = socket
    watchdogInterval = Self.watchdogInterval(environment, process)
  }

  static func watchdogInterval(_ environment: [String: String], _ process: Int32) -> Duration? {
    if let watched = environment["WATCHDOG_PID"], Int32(watched) != process { return nil }
    guard let microseconds = environment["WATCHDOG_USEC"].flatMap({ Int64($0) }),
      microseconds > 1
    else { return nil }
    return .microseconds(microseconds / 2)
  }

  /// Sends READY when no vital part has trouble for the first time, as `/startupz` does. Until then
  /// a sign of life is more time to start: who waits for Redis is no process that hangs.
  /// - Parameters:
  ///   - health: every part, as it is now.
  ///   - ticks: returns when the process' own threads have done something each.
  package nonisolated func start(
    health: @escaping @Sendable () async -> [HealthPart],
    ticks: @escaping @Sendable () async -> Void
  ) {
    onLoop { notifier in
      Task { await notifier.observe(health) }
      Task { await notifier.giveSigns(of: ticks) }
    }
  }

  /// Sends RELOADING, reloads, and sends READY again. While the process starts or stops, it only
  /// reloads. Returns before it has.
  package nonisolated func reload(_ body: @escaping @Sendable () async -> Void) {
    onLoop { notifier in _ = Task { await notifier.reloadNow(body) } }
  }

  /// Sends STOPPING; READY is never sent after it.
  /// - Parameter limit: how long the process may take to end. systemd waits at least for that long.
  package nonisolated func stopping(within limit: Duration?) {
    guard !hasBegunToStop.exchange(true, ordering: .relaxed) else { return }
    let time = limit.map { [Self.moreTime($0)] } ?? []
    let fields = ["STOPPING=1", Self.statusLine("stopping: finishes what it has begun")] + time
    // At once: the process may end before the loop's next turn.
    let isTaken = socket.send(fields)
    onLoop { $0.beginStop(isTaken ? [] : fields) }
  }

  /// Sends STOPPING if nobody has, and ends the thread. Nothing is sent any more.
  package nonisolated func end() {
    stopping(within: nil)
    loop.stop()
  }

  /// A task that begins here needs none of the runtime's threads, which may all be busy.
  private nonisolated func onLoop(
    _ body: @escaping @Sendable (isolated ServiceNotifier) -> Void
  ) {
    loop.execute { self.assumeIsolated { body($0) } }
  }

  private func observe(_ health: @escaping @Sendable () async -> [HealthPart]) async {
    let parts = await health()
    guard !hasBegunToStop.load(ordering: .relaxed) else { return }
    report(parts)
    let interval = phase == .running ? Self.runningInterval : Self.startingInterval
    loop.schedule(after: interval) { [weak self] in
      self?.assumeIsolated { notifier in _ = Task { await notifier.observe(health) } }
    }
  }

  private func report(_ parts: [HealthPart]) {
    let troubles = parts.compactMap { part in part.trouble.map { "\(part.name): \($0)" } }
    let isStarted = phase == .running || parts.allSatisfy { $0.trouble == nil || !$0.isVital }
    let heading = isStarted ? "not ready: " : "starting: "
    let words = troubles.isEmpty ? "ready" : heading + troubles.joined(separator: "; ")
    let saysReady = isStarted && (phase == .starting || owesReady)
    guard saysReady || words != status else { return }
    // A message that systemd did not take is sent again in the next round.
    guard socket.send((saysReady ? ["READY=1"] : []) + [Self.statusLine(words)]) else { return }
    status = words
    owesReady = false
    if isStarted { phase = .running }
  }

  /// Waits for the threads without a limit: the watchdog's time is the limit.
  private func giveSigns(of ticks: @escaping @Sendable () async -> Void) async {
    await ticks()
    let interval = watchdogInterval ?? Self.usualLifeInterval
    if phase == .starting {
      socket.send([Self.moreTime(interval * 3)])
    } else if watchdogInterval != nil {
      socket.send(["WATCHDOG=1"])
    } else {
      return
    }
    loop.schedule(after: interval) { [weak self] in
      self?.assumeIsolated { notifier in _ = Task { await notifier.giveSigns(of: ticks) } }
    }
  }

  private func reloadNow(_ body: @Sendable () async -> Void) async {
    let isRunning = phase == .running
    if isRunning { socket.send(["RELOADING=1", "MONOTONIC_USEC=\(loop.clock / 1_000)"]) }
    await body()
    if isRunning, !hasBegunToStop.load(ordering: .relaxed) { owesReady = !socket.send(["READY=1"]) }
  }

  /// - Parameter fields: what systemd did not take yet.
  private func beginStop(_ fields: [String]) {
    phase = .stopping
    insist(fields)
  }

  /// Sends it until systemd takes it.
  private func insist(_ fields: [String]) {
    guard !fields.isEmpty, !socket.send(fields) else { return }
    loop.schedule(after: .milliseconds(50)) { [weak self] in
      self?.assumeIsolated { $0.insist(fields) }
    }
  }

  private static func moreTime(_ time: Duration) -> String {
    "EXTEND_TIMEOUT_USEC=\(time.nanoseconds / 1_000)"
  }

  /// A line break would begin another field. systemd drops what is longer than 4,096 bytes; a
  /// scalar has at most four.
  private static func statusLine(_ words: String) -> String {
    var line = "STATUS="
    for scalar in words.unicodeScalars.prefix(900) {
      line.unicodeScalars.append(scalar.value < 0x20 || scalar.value == 0x7F ? " " : scalar)
    }
    return line
  }
}

/// The datagram socket of systemd. Opened for each message, as sd_notify(3) does: systemd may bind
/// another one in its place.
struct NotifySocket: Sendable {
  /// As `sun_path` has it: an abstract name begins with a zero.
  private let path: [UInt8]

  /// - Parameter name: of `NOTIFY_SOCKET`; nil for what is neither a path nor an abstract name, or
  ///   is too long.
  init?(_ name: String) {
    var path = Array(name.utf8)
    guard let first = path.first, path.count > 1 else { return nil }
    guard first == UInt8(ascii: "/") || first == UInt8(ascii: "@") else { return nil }
    guard path.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path) else { return nil }
    if first == UInt8(ascii: "@") { path[0] = 0 }
    self.path = path
  }

  /// Whether it was taken: a queue that is full takes nothing, and nobody waits for it.
  @discardableResult
  func send(_ fields: [String]) -> Bool {
    let kind = SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    let descriptor = socket(AF_UNIX, Int32(kind), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
    let message = Array(fields.joined(separator: "\n").utf8)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(descriptor, message, message.count, Int32(MSG_NOSIGNAL), $0, length)
          == message.count
      }
    }
  }
}
