import Glibc
import Processes
import Redis
import ServerProcesses

/// A real Redis Sentinel on a free port of the loopback address that watches one master, alone.
package final class RedisSentinelProcess: Sendable {
  package var port: Int { reserved.number }
  private let reserved: ReservedPort
  private let directory: ScratchDirectory
  private let process: ChildProcess

  /// Finds a master dead that does not answer for half a second.
  package init(
    watching master: RedisServerProcess, as name: String, password: String? = nil
  ) throws {
    directory = try ScratchDirectory()
    reserved = try ReservedPort()
    let lines =
      [
        "bind 127.0.0.1", "port \(reserved.number)", "dir \(directory.path)",
        "sentinel monitor \(name) 127.0.0.1 \(master.port) 1",
        "sentinel down-after-milliseconds \(name) 500",
        "sentinel failover-timeout \(name) 3000",
      ] + (password.map { ["requirepass \($0)"] } ?? [])
    let file = try directory.write(lines.joined(separator: "\n") + "\n", to: "sentinel.conf")
    process = try ChildProcess(["redis-server", file, "--sentinel"], output: .pipe)
    try process.waitForLine(containing: "+monitor master")
  }

  package func stop() { process.stop(SIGKILL) }

  /// Runs one command as redis-cli would; its output.
  package func cli(_ command: String...) throws -> String {
    try RedisCommandLine.run(command, port: port)
  }

  /// Waits until it knows a replica that could take the master's place: it looks every ten seconds,
  /// and once at the beginning.
  package func waitForReplica(of name: String) throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while try !cli("SENTINEL", "REPLICAS", name).contains("master-link-status\nok") {
      guard ContinuousClock.now < deadline else {
        throw LocalRunError(.failed, "the sentinel found no replica within a minute")
      }
      _ = poll(nil, 0, 20)
    }
  }
}
