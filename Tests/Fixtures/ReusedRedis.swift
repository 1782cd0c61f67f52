import Glibc
import ServerProcesses
import Threads

/// A redis-server that serves one test of a process after the other, since to start one costs more
/// than most tests do. It comes back as it began or not at all: who has changed its configuration,
/// its users or its replicas, has stopped it or started it again, leaves none.
struct ReusedRedis: Sendable {
  /// What a server says of itself that the next test would feel.
  private struct State: Equatable {
    let process: Int32?
    let configuration: String
    let users: String
    let replication: [Substring]

    init(_ server: RedisServerProcess) throws {
      process = server.processID
      configuration = try server.cli("CONFIG", "GET", "*")
      users = try server.cli("ACL", "LIST")
      replication = try server.cli("INFO", "replication").split(whereSeparator: \.isNewline)
        .filter { line in
          ["role:", "connected_slaves:", "master_repl_offset:", "repl_backlog_active:"]
            .contains { line.hasPrefix($0) }
        }
    }
  }

  private static let idle = ThreadLock<[ReusedRedis]>([])

  let server: RedisServerProcess
  private let state: State

  /// They go with the process.
  private static let goWithProcess: Void = {
    atexit { ReusedRedis.idle.withLock { $0 = [] } }
  }()

  static func take() throws -> ReusedRedis {
    _ = goWithProcess
    if let redis = idle.withLock({ $0.popLast() }) { return redis }
    let server = try RedisServerProcess()
    return ReusedRedis(server: server, state: try State(server))
  }

  /// Those who still are connected are so no longer.
  func giveBack() {
    guard server.processID != nil, (try? State(server)) == state else { return }
    for command in [
      ["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"], ["CLIENT", "KILL", "TYPE", "pubsub"],
      ["FLUSHALL"], ["SCRIPT", "FLUSH"], ["FUNCTION", "FLUSH"], ["CONFIG", "RESETSTAT"],
      ["SLOWLOG", "RESET"],
    ] { _ = try? server.cli(command) }
    Self.idle.withLock { $0.append(self) }
  }
}
