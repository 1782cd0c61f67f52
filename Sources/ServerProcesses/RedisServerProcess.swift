import Glibc
import Processes
import Redis
import Threads

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
    let text = try ChildProcess.run(
      ["redis-cli"] + cliArguments + command, hasGuardian: false)
    return text.hasSuffix("\n") ? String(text.dropLast()) : text
  }

  @discardableResult
  package func cli(_ command: String...) throws -> String { try cli(command) }
}
