import Redis
import ServerProcesses
import Terminal

/// The configuration of a worker that speaks to our own servers: what somebody would write for
/// theirs, with the addresses of a run in it.
package struct WorkerFile {
  package let bootstrapServers: String
  package let redis: RedisOptions
  package let simulator: SimulatorProcess
  package let templates: String
  /// 0: one for each core.
  package let lanes: Int
  /// The sandbox is an address where nobody listens.
  package var closesSandbox = false
  /// A lane has so many to each server, and no others under load; nil: what comes by default.
  package var connections: Int?

  /// A real broker answers a waiting fetch as soon as there is something to read. The embedded one
  /// looks again only when the wait is over, so the wait must be short for an event to be read at
  /// once.
  private static let fetchWait = "5ms"

  private static let drainTimeout = "2s"
  /// The least of the privileged ports; nobody listens there.
  private static let closedPort = 1

  private var redisText: String {
    guard !redis.clusterNodes.isEmpty else {
      return "  host: \(redis.host)\n  port: \(redis.port)"
    }
    let nodes = redis.clusterNodes.map { "\"\($0)\"" }.joined(separator: ", ")
    return "  cluster: [\(nodes)]"
  }

  private var connectionsText: String {
    connections.map {
      "  connections_per_lane: \($0)\n  connections_per_lane_maximum: \($0)"
    } ?? ""
  }

  package var text: String {
    func quoted(_ text: String) -> String { JSONOutput.text(text).serialized() }
    let host = quoted(simulator.endpoint.host)
    let port = simulator.endpoint.port
    return """
      kafka:
        bootstrap_servers: [\(quoted(bootstrapServers))]
        fetch_wait_maximum: \(Self.fetchWait)
      redis:
      \(redisText)
      audience:
        plain_set_key: "\(LocalStack.plainSetPrefix){streamer}"
      templates:
        directory: \(quoted(templates))
      apns:
        production: { host: \(host), port: \(port) }
        sandbox: { host: \(host), port: \(closesSandbox ? Self.closedPort : port) }
        ca_file: \(quoted(simulator.caFile))
        key_file: \(quoted(simulator.keyFile))
        key_id: \(quoted(simulator.keyID))
        team_id: \(quoted(simulator.teamID))
      \(connectionsText)
      lanes:
        count: \(lanes)
        drain_timeout: \(Self.drainTimeout)

      """
  }
}
