import EventLoop
import Terminal

/// The servers that stand around a worker, each a process of its own on a free port of 127.0.0.1.
enum Servers {
  private static let patience: Duration = .seconds(20)
  private static let portAttempts = 5

  struct Redis {
    let process: ChildProcess
    let port: Int
  }

  /// A redis-server that keeps nothing but what SAVE is told to.
  static func redis(_ household: Household) async throws(CommandFailure) -> Redis {
    let program = try Executable.find("redis-server", package: "redis-server")
    for attempt in 1...portAttempts {
      let port = try LocalPort.findFree()
      let process = try household.start(
        "redis",
        [
          program, "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
          "--dir", household.directory.path, "--daemonize", "no",
        ], isNeeded: false)
      let isReady = try await household.wait(
        "redis-server was not ready", within: patience, blaming: process
      ) { () async throws(CommandFailure) -> Bool? in
        if !process.isRunning { return false }
        let log = ScratchDirectory.read(process.outputFile) ?? ""
        return log.contains("Ready to accept connections") ? true : nil
      }
      if isReady {
        process.isNeeded = true
        return Redis(process: process, port: port)
      }
      guard attempt < portAttempts else {
        throw CommandFailure(
          .failed, "redis-server ends as soon as it is started",
          findings: ScratchDirectory.lastLines(8, of: process.outputFile))
      }
    }
    throw CommandFailure(.failed, "redis-server does not start")
  }

  /// Returns the bootstrap servers of an embedded Kafka broker.
  static func broker(_ household: Household) async throws(CommandFailure) -> String {
    let process = try household.start(
      "broker",
      [
        Executable.own, "broker", "--topics",
        "notify-followers:4,notify-followers.segments:8,notify-followers.stragglers:4,"
          + "notify-followers.dead-letters:1",
      ])
    return try await household.readyLine(of: process).text("bootstrap_servers")
  }

  static func simulator(
    _ household: Household, options: [String] = []
  ) async throws(CommandFailure) -> SimulatorProcess {
    let directory = household.directory.file("apns")
    let process = try household.start(
      "simulator", [Executable.own, "simulator", "--directory", directory] + options)
    return try SimulatorProcess(
      ready: await household.readyLine(of: process), readyFile: process.outputFile,
      loop: household.loop)
  }

  /// Waits for the group to have given the worker its partitions.
  static func worker(
    _ household: Household, configuration: String
  ) async throws(CommandFailure) -> ChildProcess {
    let ready = household.directory.file("worker.ready")
    ScratchDirectory.removeFile(ready)
    let process = try household.start(
      "worker",
      [Executable.own, "worker", "--config", configuration, "--ready-file", ready])
    return try await household.wait(
      "the worker was not ready", within: patience, blaming: process
    ) { ScratchDirectory.exists(ready) ? process : nil }
  }
}

extension Household {
  /// The line of JSON that a server prints when it is ready.
  func readyLine(of process: ChildProcess) async throws(CommandFailure) -> Report {
    let line = try await wait(
      "\(process.name) was not ready", within: .seconds(20), blaming: process
    ) { () async throws(CommandFailure) -> String? in
      let text = ScratchDirectory.read(process.outputFile) ?? ""
      return text.firstIndex(of: "\n").map { String(text[..<$0]) }
    }
    return try Report(Array(line.utf8), of: "the \(process.name)")
  }
}
