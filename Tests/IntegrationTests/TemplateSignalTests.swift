import Glibc
import Processes
import TestBed
import Testing

/// SIGHUP, as operators know it from other servers.
@Suite struct TemplateSignalTests {
  @Test func aHangUpReloadsTheTemplatesAndStopsNothing() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: [paddedHex(1)])
    let folder = try bed.directory.makeDirectory("texts")
    try bed.directory.write(text("first"), to: "texts/go-live.yaml")
    let worker = try await bed.startProcess(
      "first", executable: WorkerExecutable.path,
      settings: ["templates.directory=\(folder)", "templates.reload_interval=0s"])
    try bed.directory.write(text("second"), to: "texts/go-live.yaml")
    worker.signal(SIGHUP)
    try await said("the templates on disk are used from now on", bed)
    try await bed.emit("e1")
    #expect(try await bed.finished("e1").accepted == 1)
    try bed.directory.write("payload: { aps: {\n", to: "texts/go-live.yaml")
    worker.signal(SIGHUP)
    try await said("go-live.yaml:2:", bed)
    // A dashboard that reads Redis alone hears of it so.
    _ = try await bed.until("the heartbeat says so") {
      let since = try bed.redis.cli("HGET", "ff:worker:first", "templates_refused_ms")
      return Int64(since).map { $0 > 0 } == true ? true : nil
    }
    try await bed.emit("e2")
    #expect(try await bed.finished("e2").accepted == 1)
    #expect(worker.stop(SIGTERM) == 0)
  }

  private func text(_ words: String) -> String { "payload: { aps: { alert: \(words) } }\n" }

  /// Waits for a line of the worker's log.
  private func said(_ words: String, _ bed: WorkerBed) async throws {
    let log = bed.directory.file("first.log")
    _ = try await bed.until("the log to say: \(words)") {
      try ChildProcess.run(["cat", log]).contains(words) ? true : nil
    }
  }
}
