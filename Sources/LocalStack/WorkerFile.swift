import Processes
import Redis
import Terminal

/// The configuration of a worker that speaks to our own servers: what somebody would write for
/// theirs, with the addresses of a run in it.
package struct WorkerFile {
  package let bootstrapServers: String
  package let redis: RedisOptions
  /// The sections of the platforms, each with a line break at its end.
  package let platforms: [String]
  package let templates: String
  /// 0: one for each core.
  package let lanes: Int
  /// Further sections, each with a line break at its end.
  var more = ""

  /// A real broker answers a waiting fetch as soon as there is something to read. The embedded one
  /// looks again only when the wait is over, so the wait must be short for an event to be read at
  /// once.
  private static let fetchWait = "5ms"

  private static let drainTimeout = "2s"

  private var redisText: String {
    guard !redis.clusterNodes.isEmpty else { return "  host: \(redis.host)\n  port: \(redis.port)" }
    let nodes = redis.clusterNodes.map { "\"\($0)\"" }.joined(separator: ", ")
    return "  cluster: [\(nodes)]"
  }

  package var text: String {
    func quoted(_ text: String) -> String { JSONOutput.text(text).serialized() }
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
      \(platforms.joined())
      lanes:
        count: \(lanes)
        drain_timeout: \(Self.drainTimeout)
      \(more)
      """
  }
}
