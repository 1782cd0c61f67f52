import Fixtures
import Glibc
import Telemetry
import Testing

@testable import Probes

@Suite struct ServiceNotifierTests {
  @Test func systemdHearsThatAProcessStartsIsReadyLivesAndStops() async throws {
    let systemd = try DatagramServer()
    let health = Health()
    await health.say("partitions", trouble: nil)
    let notifier = try #require(
      ServiceNotifier(
        environment: ["NOTIFY_SOCKET": systemd.name, "WATCHDOG_USEC": "2000"], process: getpid()))
    notifier.start(health: { await health.parts }, ticks: {})
    #expect(try await systemd.until("STATUS=") == ["STATUS=starting: redis: not yet"])
    // Three times the half of the watchdog's time.
    #expect(try await systemd.until("EXTEND_TIMEOUT_USEC=") == ["EXTEND_TIMEOUT_USEC=3000"])
    await health.say("kafka", trouble: "away", isVital: false)
    await health.say("redis", trouble: nil)
    let ready = try await systemd.until("READY=1")
    #expect(ready == ["READY=1", "STATUS=not ready: kafka: away"])
    #expect(systemd.heard.allSatisfy { !$0.contains("WATCHDOG=1") }, "it has not started")
    _ = try await systemd.until("WATCHDOG=1")
    notifier.stopping(within: .seconds(35))
    let stop = try await systemd.until("STOPPING=1")
    #expect(stop.contains("EXTEND_TIMEOUT_USEC=35000000"))
    #expect(stop.contains { $0.hasPrefix("STATUS=stopping") })
    _ = try await systemd.until("WATCHDOG=1")
    notifier.end()
  }

  @Test func aThreadThatHangsKeepsTheWatchdogWaiting() async throws {
    let systemd = try DatagramServer()
    let gate = Gate()
    let notifier = try #require(
      ServiceNotifier(
        environment: ["NOTIFY_SOCKET": systemd.name, "WATCHDOG_USEC": "200"], process: getpid()))
    notifier.start(health: { [] }, ticks: { await gate.pass() })
    _ = try await systemd.until("READY=1")
    _ = try await systemd.until("WATCHDOG=1")
    await gate.close()
    await gate.untilOneIsStuck()
    // A queue that is full takes nothing.
    for _ in 0..<1_000 where !systemd.isSilent { _ = try await systemd.next() }
    try await reload(notifier, systemd)
    let before = systemd.heard.count
    // Longer than many intervals.
    for _ in 0..<200 { try await reload(notifier, systemd) }
    #expect(systemd.heard.dropFirst(before).allSatisfy { $0 != ["WATCHDOG=1"] })
    await gate.open()
    _ = try await systemd.until("WATCHDOG=1")
    notifier.end()
  }

  private func reload(_ notifier: ServiceNotifier, _ systemd: DatagramServer) async throws {
    notifier.reload {}
    _ = try await systemd.until("RELOADING=1")
    _ = try await systemd.until("READY=1")
  }

  @Test func aReloadIsToldOnlyWhileTheProcessRuns() async throws {
    let systemd = try DatagramServer()
    let health = Health()
    let gate = Gate()
    let notifier = try #require(
      ServiceNotifier(environment: ["NOTIFY_SOCKET": systemd.name], process: getpid()))
    notifier.start(health: { await health.parts }, ticks: {})
    await withCheckedContinuation { done in notifier.reload { done.resume() } }
    await health.say("partitions", trouble: nil)
    await health.say("redis", trouble: nil)
    #expect(try await systemd.until("READY=1") == ["READY=1", "STATUS=ready"])
    #expect(systemd.heard.allSatisfy { !$0.contains("RELOADING=1") }, "it was starting")

    await gate.close()
    notifier.reload { await gate.pass() }
    let begin = try await systemd.until("RELOADING=1")
    let time = begin.first { $0.hasPrefix("MONOTONIC_USEC=") }?.split(separator: "=").last
    #expect(time.flatMap { UInt64($0) } ?? 0 > 0)
    await gate.untilOneIsStuck()
    #expect(systemd.heard.last == begin, "it has not reloaded yet")
    await gate.open()
    #expect(try await systemd.next() == ["READY=1"])
    notifier.stopping(within: nil)
    let stop = try await systemd.next()
    #expect(stop.first == "STOPPING=1" && stop.count == 2, "\(stop)")
    notifier.stopping(within: nil)
    // The end of the first one is before the second one.
    for _ in 0..<2 { await withCheckedContinuation { done in notifier.reload { done.resume() } } }
    notifier.end()
    #expect(systemd.isSilent)
  }

  @Test func wordsOfOthersAddNoFieldAndAreBounded() async throws {
    let systemd = try DatagramServer()
    let health = Health()
    await health.say("partitions", trouble: "x\nREADY=1")
    await health.say("redis", trouble: String(repeating: "😀", count: 3_000))
    let notifier = try #require(
      ServiceNotifier(environment: ["NOTIFY_SOCKET": systemd.name], process: getpid()))
    notifier.start(health: { await health.parts }, ticks: {})
    let status = try await systemd.until("STATUS=")
    #expect(status.count == 1 && status[0].contains("partitions: x READY=1; redis: 😀"))
    #expect(status[0].utf8.count <= 4_096)
    notifier.end()
  }

  @Test func aSocketMayHaveAPath() async throws {
    let path = "/tmp/fanfare-notify-\(getpid())"
    let systemd = try DatagramServer(path)
    defer { unlink(path) }
    let socket = try #require(NotifySocket(path))
    #expect(socket.send(["READY=1"]))
    #expect(try await systemd.next() == ["READY=1"])
    unlink(path)
    #expect(!socket.send(["READY=1"]))
  }

  @Test(arguments: [
    "", "@", "/", "relative", "vsock:2:1", "/" + String(repeating: "a", count: 107),
  ])
  func otherNamesAreNoSocket(_ name: String) {
    #expect(NotifySocket(name) == nil)
    #expect(ServiceNotifier(environment: ["NOTIFY_SOCKET": name], process: 1) == nil)
  }

  @Test func withoutAServiceManagerNobodyIsTold() {
    #expect(ServiceNotifier(environment: ["WATCHDOG_USEC": "1000000"], process: 1) == nil)
  }

  @Test func theWatchdogMustWatchThisProcess() {
    func interval(_ time: String, _ process: String? = nil) -> Duration? {
      var environment = ["WATCHDOG_USEC": time]
      environment["WATCHDOG_PID"] = process
      return ServiceNotifier.watchdogInterval(environment, 7)
    }
    #expect(interval("30000000") == .seconds(15))
    #expect(interval("30000000", "7") == .seconds(15))
    #expect(interval("30000000", "8") == nil)
    #expect(interval("30000000", "") == nil)
    for time in ["", "0", "1", "-5", "soon"] { #expect(interval(time) == nil, "\(time)") }
    #expect(ServiceNotifier.watchdogInterval([:], 7) == nil)
  }
}
