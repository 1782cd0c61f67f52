import APNsSimulator
import Fixtures
import Glibc
import Kafka
import Processes
import TestBed
import Testing

/// The file by which probes know that a worker works: it says what is so now.
@Suite("Ready file") struct ReadyFileTests {
  private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// A file that was made again is another one to the file system.
  private static func identity(_ path: String) -> [Int]? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    return [Int(status.st_ino), status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
  }

  @Test("What a killed worker left behind goes before the next one has connected to anything")
  func stale() async throws {
    let bed = try await WorkerBed()
    let ready = try bed.directory.write("", to: "stale")
    let nobody = try DeadPort.number
    let process = try ChildProcess([
      WorkerExecutable.path, "worker", "--ready-file", ready, "--set",
      "kafka.bootstrap_servers=127.0.0.1:\(nobody)", "--set", "redis.port=\(nobody)",
    ])
    _ = try await bed.until("the stale file goes") { Self.exists(ready) ? nil : true }
    process.stop()
    #expect(!Self.exists(ready))
  }

  @Test("It goes when the worker begins to drain, not when it has ended")
  func drain() async throws {
    var script = SimulatorScript()
    script.silentAfter = 1
    let bed = try await WorkerBed(script: script)
    try await bed.follow("s1", tokens: [String(repeating: "ab", count: 32)])
    let worker = try await bed.startProcess(
      "w1", executable: WorkerExecutable.path,
      settings: ["lanes.drain_timeout=100s", "kafka.session_timeout=201s"])
    let ready = bed.directory.file("w1.ready")
    try await bed.emit("e1")
    _ = try await bed.until("a push is in flight") {
      await bed.simulator.summary().requests > 0 ? true : nil
    }
    worker.signal(SIGTERM)
    _ = try await bed.until("the file goes") { Self.exists(ready) ? nil : true }
    // Nobody answers the push: the drain would take its whole time.
    #expect(worker.isRunning, "the file went when the worker had ended")
    worker.stop(SIGTERM)
    #expect(!Self.exists(ready))
  }

  @Test("It goes when the partitions are lost, and comes back with them")
  func lost() async throws {
    let bed = try await WorkerBed()
    let worker = try await bed.startProcess("w1", executable: WorkerExecutable.path)
    let ready = bed.directory.file("w1.ready")
    let before = try #require(Self.identity(ready))
    try #require(bed.broker).fail(next: .heartbeat, with: [.illegalGeneration])
    _ = try await bed.until("the file is another one") {
      let now = Self.identity(ready)
      return now == nil || now == before ? nil : true
    }
    worker.stop()
    #expect(!Self.exists(ready))
  }
}
