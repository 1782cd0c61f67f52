import Glibc
import Processes
import Redis
import Threads
import Transport

/// A real Redis Cluster on the loopback address: masters that divide the slots, each with a
/// replica; gone when the object goes.
package final class RedisClusterProcess: Sendable {
  package let masters: [RedisServerProcess]
  /// The n-th follows the n-th master, until that is killed.
  package let replicas: [RedisServerProcess]
  private static let slots = 16_384

  package var nodes: [RedisServerProcess] { masters + replicas }

  /// Returns when every node knows all slots to be served, and every replica has its master's data.
  /// `options` are further arguments of each redis-server.
  package init(
    masters count: Int = 3, hasReplicas: Bool = true, tls: RedisServerProcess.TLSFiles? = nil,
    options: [String] = []
  ) throws {
    let options =
      options + (tls == nil ? [] : ["--tls-cluster", "yes", "--tls-replication", "yes"])
    let nodes = try (0..<(hasReplicas ? count * 2 : count)).map { _ in
      try Self.node(options, tls)
    }
    masters = Array(nodes.prefix(count))
    replicas = Array(nodes.dropFirst(count))
    for (index, master) in masters.enumerated() {
      let range = Self.share(index, of: count)
      try master.cli("CLUSTER", "ADDSLOTSRANGE", "\(range.lowerBound)", "\(range.upperBound)")
    }
    for (index, node) in nodes.enumerated() {
      // Without an epoch of its own each node takes a new one, one after the other.
      try node.cli("CLUSTER", "SET-CONFIG-EPOCH", "\(index + 1)")
      if index > 0 { try Self.meet(nodes[0], node) }
    }
    try wait("every node to know the others") {
      try nodes.allSatisfy {
        try Self.lines(of: $0).count { !$0.contains("handshake") } == nodes.count
      }
    }
    for (master, replica) in zip(masters, replicas) {
      try replica.cli("CLUSTER", "REPLICATE", Self.identifier(of: master))
    }
    try wait("every slot to be served and copied") { try nodes.allSatisfy { try isReady($0) } }
  }

  /// Where every node listens.
  package var endpoints: [Endpoint] { nodes.map { Endpoint(host: "127.0.0.1", port: $0.port) } }

  /// `host:port` of every node.
  package var addresses: [String] { endpoints.map { "\($0)" } }

  /// Looks every few milliseconds; fails after a minute.
  package func wait(_ what: String, until condition: () throws -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while try !condition() {
      guard ContinuousClock.now < deadline else {
        throw LocalRunError(.failed, "waited a minute for \(what)")
      }
      _ = poll(nil, 0, 10)
    }
  }

  // MARK: one node

  /// One that knows nobody yet. Its `cli` follows redirections.
  package static func node(
    _ options: [String], _ tls: RedisServerProcess.TLSFiles?
  ) throws -> RedisServerProcess {
    try RedisServerProcess(
      tls: tls,
      options: [
        "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
        "--cluster-node-timeout", "2000", "--cluster-replica-validity-factor", "0",
        "--cluster-allow-replica-migration", "no", "--repl-diskless-sync-delay", "0",
      ] + options, isClusterNode: true)
  }

  /// `one` gets to know `other`, and all others do in a while.
  package static func meet(_ one: RedisServerProcess, _ other: RedisServerProcess) throws {
    let bus = try other.cli("CONFIG", "GET", "cluster-port").split(separator: "\n").last ?? ""
    try one.cli("CLUSTER", "MEET", "127.0.0.1", "\(other.port)", String(bus))
  }

  private static func share(_ index: Int, of count: Int) -> ClosedRange<Int> {
    (slots * index / count)...(slots * (index + 1) / count - 1)
  }

  /// A node's report of itself and of those that it knows.
  package static func lines(of node: RedisServerProcess) throws -> [Substring] {
    try node.cli("CLUSTER", "NODES").split(separator: "\n")
  }

  package static func identifier(of node: RedisServerProcess) throws -> String {
    try node.cli("CLUSTER", "MYID")
  }

  private func isReady(_ node: RedisServerProcess) throws -> Bool {
    let state = try node.cli("CLUSTER", "INFO")
    guard state.contains("cluster_state:ok"), state.contains("cluster_slots_ok:\(Self.slots)")
    else { return false }
    let roles = try Self.lines(of: node)
    guard roles.count(where: { $0.contains("slave") }) == replicas.count else { return false }
    guard replicas.contains(where: { $0 === node }) else { return true }
    return try node.cli("INFO", "replication").contains("master_link_status:up")
  }
}

/// A real redis-server on a free port of the loopback address, with a directory of its own; gone
/// when the object goes. `kill` and `start` again on the same port to play an outage.
package final class RedisServerProcess: Sendable {
  /// PEM files that switch TLS on; plain connections are refused then.
  package struct TLSFiles: Sendable {
    package let authority: String
    package let certificate: String
    package let key: String

    package init(authority: String, certificate: String, key: String) {
      self.authority = authority
      self.certificate = certificate
      self.key = key
    }
  }

  package var port: Int { reserved[0].number }
  package let directory: ScratchDirectory
  /// Its port and a cluster node's port of the bus: nobody else takes them while it is down.
  private let reserved: [ReservedPort]
  private let arguments: [String]
  private let cliArguments: [String]
  /// TLS, and following redirections, are left to redis-cli.
  private let isEncrypted: Bool
  private let isClusterNode: Bool
  /// Commands that a cluster's node answers of itself. They are asked a hundred times while the
  /// cluster forms.
  private static let ownState: Set<[String]> = [
    ["CLUSTER", "INFO"], ["CLUSTER", "NODES"], ["CONFIG", "GET"], ["INFO", "replication"],
    ["ROLE"],
  ]
  private let process: ThreadLock<ChildProcess?>

  /// `isDurable`: every write is on disk before its reply, so that it survives `kill`. `options`:
  /// further arguments of redis-server, such as `["--requirepass", "secret"]`. `isClusterNode`: it
  /// has a port for the cluster's bus, and `cli` follows redirections.
  package init(
    isDurable: Bool = false, tls: TLSFiles? = nil, options: [String] = [],
    isClusterNode: Bool = false
  ) throws {
    directory = try ScratchDirectory()
    reserved = try (0..<(isClusterNode ? 2 : 1)).map { _ in try ReservedPort() }
    let port = reserved[0].number
    // Left to itself the bus takes the port 10,000 above, which may be taken, or no port at all.
    let bus = isClusterNode ? ["--cluster-port", "\(reserved[1].number)"] : []
    arguments =
      Self.arguments(port: port, directory: directory.path, isDurable: isDurable, tls: tls) + bus
      + options
    cliArguments =
      ["-p", "\(port)"] + (tls.map { ["--tls", "--cacert", $0.authority] } ?? [])
      + (isClusterNode ? ["-c"] : [])
    isEncrypted = tls != nil
    self.isClusterNode = isClusterNode
    process = ThreadLock(try Self.launch(arguments))
  }

  private static func arguments(
    port: Int, directory: String, isDurable: Bool, tls: TLSFiles?
  ) -> [String] {
    var arguments = ["redis-server", "--bind", "127.0.0.1", "--dir", directory, "--save", ""]
    arguments += ["--appendonly", isDurable ? "yes" : "no", "--appendfsync", "always"]
    guard let tls else { return arguments + ["--port", "\(port)"] }
    arguments += ["--port", "0", "--tls-port", "\(port)", "--tls-auth-clients", "no"]
    arguments += ["--tls-cert-file", tls.certificate, "--tls-key-file", tls.key]
    return arguments + ["--tls-ca-cert-file", tls.authority]
  }

  private static func launch(_ arguments: [String]) throws -> ChildProcess {
    let process = try ChildProcess(arguments, output: .pipe)
    try process.waitForLine(containing: "Ready to accept connections")
    return process
  }

  package var processID: pid_t? { process.withLock { $0?.processID } }

  /// `kill -9`: what was not on disk is lost, connections are reset.
  package func kill() { stop(SIGKILL) }

  package func stop(_ signal: Int32 = SIGTERM) {
    process.withLock {
      _ = $0?.stop(signal)
      $0 = nil
    }
  }

  /// Starts the server again after `kill` or `stop`, on the same port and directory.
  package func start() throws {
    try process.withLock { if $0 == nil { $0 = try Self.launch(arguments) } }
  }

  /// SIGSTOP: the kernel still accepts connections, nothing is answered. `resume` ends it.
  package func freeze() { process.withLock { $0?.signal(SIGSTOP) } }
  package func resume() { process.withLock { $0?.signal(SIGCONT) } }

  /// Runs one command as redis-cli would; its output without the last line end. Arguments that
  /// begin with `-` before the command are for redis-cli itself (`["--user", "x", "--pass", "y",
  /// "GET", "k"]`), which then does run.
  @discardableResult
  package func cli(_ command: [String]) throws -> String {
    let needsProgram = isClusterNode && !Self.ownState.contains(Array(command.prefix(2)))
    if !isEncrypted, !needsProgram, let first = command.first, !first.hasPrefix("-") {
      return try RedisCommandLine.run(command, port: port)
    }
    let text = try ChildProcess.run(["redis-cli"] + cliArguments + command, hasGuardian: false)
    return text.hasSuffix("\n") ? String(text.dropLast()) : text
  }

  @discardableResult
  package func cli(_ command: String...) throws -> String { try cli(command) }
}
