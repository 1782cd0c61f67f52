import Fixtures
import Glibc
import Processes
import ServerProcesses
import TestBed
import Testing

/// A thread that does nothing any more, in the program as it is built for use.
@Suite struct HungThreadTests {
  private static func life(_ port: Int) throws -> String {
    let client = try RawClient(port: port)
    client.send("GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    return client.readToEnd() ?? ""
  }

  /// With each of these threads stopped, the process says so, and lives again with it.
  private static func check(_ process: pid_t, _ threads: [String], _ port: Int) throws {
    for name in threads {
      let thread = try StoppedThread(name, of: process)
      #expect(try life(port).contains(" 503 "), "\(name) hangs")
      try thread.resume()
      #expect(try life(port).contains(" 200 "), "\(name) goes on")
    }
  }

  @Test func aWorkersThreadThatHangsIsSeen() async throws {
    let bed = try await WorkerBed()
    let port = try LocalPort.findFree()
    let worker = try await bed.startProcess(
      "w1", executable: WorkerExecutable.path,
      settings: ["probes.port=\(port)", "lanes.count=2"])
    #expect(try Self.life(port).contains(" 200 "))
    try Self.check(worker.processID, ["lane-0", "lane-1", "kafka"], port)
    worker.stop(SIGKILL)
  }

  @Test func aThreadOfTheAPIThatHangsIsSeen() async throws {
    let redis = try RedisServerProcess()
    let directory = try ScratchDirectory()
    try writeFile("", to: directory.path + "/keys")
    let (port, probes) = (try LocalPort.findFree(), try LocalPort.findFree())
    let settings = [
      "redis.port=\(redis.port)", "kafka.bootstrap_servers=127.0.0.1:1",
      "api.keys_file=\(directory.path)/keys", "api.port=\(port)", "api.threads=2",
      "probes.port=\(probes)",
    ]
    let process = try ChildProcess(
      [WorkerExecutable.path, "api"] + settings.flatMap { ["--set", $0] },
      output: .file(directory.path + "/log"))
    let limit = ContinuousClock.now + .seconds(30)
    while !LocalPort.isListening(port) {
      try #require(ContinuousClock.now < limit && process.isRunning)
    }
    #expect(try Self.life(probes).contains(" 200 "))
    try Self.check(process.processID, ["api", "api 1"], probes)
    #expect(process.stop() == 0)
  }

  private func writeFile(_ text: String, to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    _ = write(descriptor, text, text.utf8.count)
    close(descriptor)
  }
}

/// One thread of a child of ours that is held by ptrace(2), which stops no other. All calls must
/// come from one thread: nobody waits in between.
private struct StoppedThread {
  private typealias Trace = @convention(c) (Int, Int, Int, Int) -> Int
  private struct NotStopped: Error { let step: String }

  // <linux/ptrace.h>; ptrace and its names are variadic and an enum, which Swift does not see.
  private static let detach = 17
  private static let seize = 0x4206
  private static let interrupt = 0x4207
  /// __WALL: threads that are no children, too.
  private static let anyThread = Int32(bitPattern: 0x4000_0000)

  private let id: Int
  private let trace: Trace

  init(_ name: String, of process: pid_t) throws {
    guard let symbol = dlsym(nil, "ptrace") else { throw NotStopped(step: "dlsym") }
    trace = unsafeBitCast(symbol, to: Trace.self)
    let found = try ChildProcess.run([
      "sh", "-c", "grep -lx '\(name)' /proc/\(process)/task/*/comm; true",
    ])
    // Threads that it has started have its name, too, until they have their own.
    let threads = found.split(separator: "\n").compactMap { Int($0.split(separator: "/")[3]) }
    guard let id = threads.min() else { throw NotStopped(step: "no thread \(name)") }
    self.id = id
    guard trace(Self.seize, id, 0, 0) == 0, trace(Self.interrupt, id, 0, 0) == 0 else {
      throw NotStopped(step: String(cString: strerror(errno)))
    }
    var status: Int32 = 0
    guard waitpid(pid_t(id), &status, Self.anyThread) == id else {
      throw NotStopped(step: "waitpid")
    }
  }

  func resume() throws {
    guard trace(Self.detach, id, 0, 0) == 0 else { throw NotStopped(step: "detach") }
  }
}
