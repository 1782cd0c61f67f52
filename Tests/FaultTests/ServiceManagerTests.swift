import Fixtures
import Glibc
import TestBed
import Testing

/// What systemd hears from a worker process.
@Suite struct ServiceManagerTests {
  @Test func aWorkerSaysThatItStartsIsReadyReloadsAndStops() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: [paddedHex(1)])
    let systemd = try DatagramServer()
    bed.redis.stop()
    let worker = try bed.beginProcess(
      "w1", executable: WorkerExecutable.path,
      environment: ["NOTIFY_SOCKET": systemd.name, "WATCHDOG_USEC": "1000000"])
    // Either may come first.
    for field in ["EXTEND_TIMEOUT_USEC=", "STATUS=starting: "] {
      while !systemd.heard.joined().contains(where: { $0.hasPrefix(field) }) {
        _ = try await systemd.next()
      }
    }
    try bed.redis.start()
    _ = try await systemd.until("READY=1")
    #expect(systemd.heard.allSatisfy { !$0.contains("WATCHDOG=1") }, "it has not started")
    _ = try await systemd.until("WATCHDOG=1")
    worker.signal(SIGHUP)
    let reload = try await systemd.until("RELOADING=1")
    #expect(reload.contains { $0.hasPrefix("MONOTONIC_USEC=") })
    _ = try await systemd.until("READY=1")
    worker.signal(SIGTERM)
    let stop = try await systemd.until("STOPPING=1")
    // Its lanes.drain_timeout is 2 s.
    #expect(stop.contains("EXTEND_TIMEOUT_USEC=17000000"))
    #expect(worker.waitForExit() == 0)
  }
}
