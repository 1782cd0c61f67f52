import Terminal

/// The configuration of a worker that speaks to our own servers: what somebody would write for
/// theirs, with the addresses of a run in it.
struct WorkerFile {
  let bootstrapServers: String
  let redisPort: Int
  let simulator: SimulatorProcess
  let templates: String
  /// 0: one for each core.
  let lanes: Int
  /// The sandbox is an address where nobody listens.
  var closesSandbox = false

  /// A real broker answers a waiting fetch as soon as there is something to read. The embedded one
  /// looks again only when the wait is over, so the wait must be short for an event to be read at
  /// once.
  private static let fetchWait = "5ms"

  /// When a worker leaves, the embedded broker waits a second less than this before it gives the
  /// partitions to the next one. The drain must fit into half of it.
  private static let sessionTimeout = "6s"
  private static let drainTimeout = "2s"
  /// The least of the privileged ports; nobody listens there.
  private static let closedPort = 1

  var text: String {
    func quoted(_ text: String) -> String { JSONOutput.text(text).serialized() }
    let host = quoted(simulator.endpoint.host)
    let port = simulator.endpoint.port
    return """
      kafka:
        bootstrap_servers: [\(quoted(bootstrapServers))]
        fetch_wait_maximum: \(Self.fetchWait)
        session_timeout: \(Self.sessionTimeout)
      redis:
        host: 127.0.0.1
        port: \(redisPort)
      audience:
        plain_set_key: "\(Ensemble.plainSetPrefix){streamer}"
      templates:
        directory: \(quoted(templates))
      apns:
        production: { host: \(host), port: \(port) }
        sandbox: { host: \(host), port: \(closesSandbox ? Self.closedPort : port) }
        ca_file: \(quoted(simulator.caFile))
        key_file: \(quoted(simulator.keyFile))
        key_id: \(quoted(simulator.keyID))
        team_id: \(quoted(simulator.teamID))
      lanes:
        count: \(lanes)
        drain_timeout: \(Self.drainTimeout)

      """
  }
}

/// Where the templates are that come with Fanfare.
enum TemplateDirectory {
  private static let template = "go-live.yaml"

  /// - Parameter given: what the command line says.
  static func find(_ given: String?) throws(CommandFailure) -> String {
    if let given {
      guard ScratchDirectory.exists("\(given)/\(template)") else {
        throw CommandFailure(.config, "\(given) holds no template \(template)")
      }
      return Executable.absolute(given)
    }
    var places = ["Config/templates"]
    // .build/<platform>/<configuration>/fanfare stands four levels below the checkout.
    if var directory = Executable.ownDirectory {
      for _ in 0..<4 {
        places.append(directory + "/Config/templates")
        guard let slash = directory.lastIndex(of: "/") else { break }
        directory = String(directory[..<slash])
      }
    }
    places.append("/etc/fanfare/templates")
    guard let place = places.first(where: { ScratchDirectory.exists("\($0)/\(template)") }) else {
      throw CommandFailure(
        .config,
        "the template \(template) is not in \(places[0]) nor near the program: name its "
          + "directory with --templates")
    }
    return Executable.absolute(place)
  }
}
