import EventLoop
import Processes
import Terminal

/// The servers that stand around a worker, each a process of its own on 127.0.0.1, on a free port
/// unless one is named.
package enum LocalServers {
  private static let startTimeout: Duration = .seconds(20)
  private static let portAttempts = 5

  package struct Redis {
    package let process: RunProcess
    package let port: Int
  }

  /// A redis-server that keeps nothing but what SAVE is told to; with a port, every write.
  /// - Parameter fixed: the port, and the directory of its files in that of the run.
  package static func redis(
    _ processes: ChildProcesses, fixed: (port: Int, directory: String)? = nil
  ) async throws(LocalRunError) -> Redis {
    let program = try Executable.find("redis-server", package: "redis-server")
    let attempts = fixed == nil ? portAttempts : 1
    let directory =
      if let fixed { try processes.directory.makeDirectory(fixed.directory) } else {
        processes.directory.path
      }
    for attempt in 1...attempts {
      let port = if let fixed { fixed.port } else { try LocalPort.findFree() }
      let process = try processes.start(
        "redis",
        [
          program, "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly",
          fixed == nil ? "no" : "yes", "--dir", directory, "--daemonize", "no",
        ], isNeeded: false)
      let isReady = try await processes.wait(
        "redis-server was not ready", within: startTimeout, blaming: process
      ) { () async throws(LocalRunError) -> Bool? in
        if !process.isRunning { return false }
        let log = ScratchDirectory.read(process.outputFile) ?? ""
        return log.contains("Ready to accept connections") ? true : nil
      }
      if isReady {
        process.isNeeded = true
        return Redis(process: process, port: port)
      }
      guard attempt < attempts else {
        throw LocalRunError(
          .failed, "redis-server ends as soon as it is started",
          findings: ScratchDirectory.lastLines(8, of: process.outputFile))
      }
    }
    throw LocalRunError(.failed, "redis-server does not start")
  }

  /// The topics that a worker reads and writes.
  package static let topics = [
    BrokerTopic(name: "notify-followers", partitions: 4),
    BrokerTopic(name: "notify-followers.segments", partitions: 8),
    BrokerTopic(name: "notify-followers.segments.bulk", partitions: 8),
    BrokerTopic(name: "notify-followers.stragglers", partitions: 4),
    BrokerTopic(name: "notify-followers.dead-letters", partitions: 1),
  ]

  /// Returns the bootstrap servers of an embedded Kafka broker.
  /// - Parameter port: 0: any free one.
  package static func broker(
    _ processes: ChildProcesses, port: Int = 0
  ) async throws(LocalRunError) -> String {
    let process = try processes.start(
      "broker",
      [
        Executable.own, "broker", "--topics",
        topics.map(\.description).joined(separator: ","), "--port", "\(port)",
      ])
    return try await processes.readyLine(of: process).text("bootstrap_servers")
  }

  package static func simulator(
    of service: SimulatedService = .apns, _ processes: ChildProcesses, options: [String] = []
  ) async throws(LocalRunError) -> SimulatorProcess {
    let process = try processes.start(
      "simulator-\(service.name)",
      [
        Executable.own, "simulator", "--platform", service.name, "--directory",
        processes.directory.file(service.name),
      ] + options)
    return try SimulatorProcess(
      service, ready: await processes.readyLine(of: process), readyFile: process.outputFile,
      loop: processes.loop)
  }

  /// Does not wait for it.
  /// - Parameter options: of `fanfare worker`, beside its configuration.
  package static func startWorker(
    _ processes: ChildProcesses, configuration: String, id: String = "worker",
    options: [String] = []
  ) throws(LocalRunError) -> RunProcess {
    try processes.start(
      id,
      [Executable.own, "worker", "--config", configuration, "--set", "worker.id=\(id)"] + options)
  }

  /// Waits for the group to have given the worker its partitions.
  /// - Parameter id: of its own where there are several.
  package static func worker(
    _ processes: ChildProcesses, configuration: String, id: String = "worker"
  ) async throws(LocalRunError) -> RunProcess {
    let ready = processes.directory.file("\(id).ready")
    ScratchDirectory.removeFile(ready)
    let process = try startWorker(
      processes, configuration: configuration, id: id, options: ["--ready-file", ready])
    return try await processes.wait(
      "the worker was not ready", within: startTimeout, blaming: process
    ) { ScratchDirectory.exists(ready) ? process : nil }
  }
}

extension ChildProcesses {
  /// The line of JSON that a server prints when it is ready.
  func readyLine(of process: RunProcess) async throws(LocalRunError) -> JSONReport {
    let line = try await wait(
      "\(process.name) was not ready", within: .seconds(20), blaming: process
    ) { () async throws(LocalRunError) -> String? in
      let text = ScratchDirectory.read(process.outputFile) ?? ""
      return text.firstIndex(of: "\n").map { String(text[..<$0]) }
    }
    return try JSONReport(Array(line.utf8), of: "the \(process.name)")
  }
}
