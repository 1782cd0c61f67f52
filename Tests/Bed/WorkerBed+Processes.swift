import Glibc
import Processes

/// Workers as processes of their own, which a test may kill.
extension WorkerBed {
  /// Returns when it has partitions. `settings`: `key=value`, as for `--set`. Its log goes to
  /// `<id>.log`.
  package func startProcess(
    _ id: String, executable: String, settings: [String] = []
  ) async throws -> ChildProcess {
    let process = try beginProcess(id, executable: executable, settings: settings)
    try await hasPartitions(process, id)
    return process
  }

  /// As `startProcess`, but does not wait. Another one of this id may have been before.
  package func beginProcess(
    _ id: String, executable: String, settings: [String] = [], environment: [String: String] = [:]
  ) throws -> ChildProcess {
    let ready = readyFile(id)
    unlink(ready)
    let all =
      [
        cluster.map { "redis.cluster=" + $0.addresses.joined(separator: ",") }
          ?? "redis.port=\(redis.port)",
        "worker.id=\(id)",
        "templates.directory=\(Self.templates)", "apns.production.host=\(address.host)",
        "apns.production.port=\(address.port)", "apns.ca_file=\(address.authorityFile)",
        "apns.key_file=\(address.providerKeyFile ?? "")", "apns.key_id=\(address.keyID)",
        "apns.team_id=\(address.teamID)", "lanes.count=2", "lanes.drain_timeout=2s",
        "log.format=json",
      ] + kafka.settings + settings
    return try ChildProcess(
      [executable, "worker", "--ready-file", ready] + all.flatMap { ["--set", $0] },
      output: .file(logFile(id)), environment: environment)
  }

  /// Waits until a worker that was begun has partitions, and nothing is wrong.
  package func hasPartitions(_ process: ChildProcess, _ id: String) async throws {
    let ready = readyFile(id)
    let hasPartitions = try await until("\(id) has partitions") {
      access(ready, F_OK) == 0 ? true : process.isRunning ? nil : false
    }
    guard hasPartitions else {
      throw LocalRunError(
        .failed, "\(id) has ended with \(process.waitForExit()), see \(logFile(id))")
    }
  }

  package func readyFile(_ id: String) -> String { directory.file("\(id).ready") }
  private func logFile(_ id: String) -> String { directory.file("\(id).log") }
}
