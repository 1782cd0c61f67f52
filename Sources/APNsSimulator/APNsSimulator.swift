import EventLoop
import SimulatorSupport
import TLS
import Transport

/// A faithful, scriptable, fast stand-in for Apple's push service: HTTP/2 over TLS with a
/// throw-away authority, Apple's checks and answers, a ledger of every token, and faults on
/// request. Runs on a loop thread of its own.
///
///     let simulator = APNsSimulator(options: .init(directory: "/tmp/apns"), log: { print($0) })
///     let address = try await simulator.start()
///     …
///     let summary = await simulator.stop()
package actor APNsSimulator {
  private nonisolated let loop: EventLoop
  private let options: APNsSimulatorOptions
  private let log: @Sendable (String) -> Void
  private var service: SimulatorService?
  private var listener: Listener?
  private var legacyListeners: [Listener] = []

  /// - Parameter log: one line for each thing worth a line; no token is ever in one.
  package init(options: APNsSimulatorOptions, log: @escaping @Sendable (String) -> Void) {
    self.options = options
    self.log = log
    loop = options.makeLoop("simulator")
  }

  deinit { loop.stop() }

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  /// Writes certificate, authority and key and listens. Once.
  package func start() throws(SimulatorError) -> APNsSimulatorAddress {
    guard service == nil else {
      throw SimulatorError(.cannotStart, "the simulator has been started already")
    }
    guard options.firstStreams >= 0, options.streams >= 0, (0...65_535).contains(options.port)
    else {
      throw SimulatorError(.badOption, "streams must not be negative, port must be 0…65535")
    }
    let files = try SimulatorFiles.prepare(options)
    var options = options
    options.providerKeys = files.providerKeys
    if options.controlToken.isEmpty { options.controlToken = ControlAccess.makeToken(loop) }
    try ControlAccess.write(options.controlToken, to: options.directory)
    let service: SimulatorService
    let listener: Listener
    let legacy: LegacyListeners
    do {
      service = try SimulatorService(options, loop: loop, log: log)
      let tls =
        options.usesTLS
        ? try TLSServerContext(
          certificateFile: files.certificate, keyFile: files.certificateKey, alpn: ["h2"],
          clientAuthorityFile: files.authority) : nil
      var transport = TransportOptions()
      transport.network = options.network
      listener = try Listener(
        host: options.host, port: options.port, tls: tls,
        options: transport, loop: loop
      ) { APNsSimulator.accept($0, service) }
      legacy = try LegacyListeners(options, files, service)
    } catch {
      throw SimulatorError(.cannotStart, "the simulator cannot start", cause: "\(error)")
    }
    self.service = service
    self.listener = listener
    legacyListeners = legacy.all
    return APNsSimulatorAddress(
      host: options.host, port: listener.port, binaryPort: legacy.gateway?.port,
      feedbackPort: legacy.feedback?.port, authorityFile: files.authority,
      providerKeyFile: files.providerKeyFile, clientCertificateFile: files.clientCertificate,
      misplacedCertificateFile: files.misplacedCertificate,
      keyID: files.providerKeys[0].keyID,
      teamID: files.providerKeys[0].teamID, controlToken: options.controlToken)
  }

  /// Returns the counts of all requests so far.
  package func summary() -> SimulatorSummary { service?.summary ?? SimulatorSummary() }

  /// How often a token (hex) was asked for and accepted.
  package func counts(of token: String) -> (requests: Int, accepted: Int) {
    guard let entry = service?.ledger.find(Array(token.lowercased().utf8)) else { return (0, 0) }
    return (Int(entry.requests), Int(entry.accepted))
  }

  package func replaceScript(_ script: SimulatorScript) { service?.replaceScript(script) }

  /// Forgets ledger and numbers.
  package func reset() { service?.reset() }

  /// Closes the listener and every connection and ends the thread; the object is of no use
  /// afterwards.
  @discardableResult
  package nonisolated func stop() async -> SimulatorSummary {
    let summary = await shutDown()
    loop.stop()
    return summary
  }

  private func shutDown() -> SimulatorSummary {
    listener?.close()
    listener = nil
    for listener in legacyListeners { listener.close() }
    legacyListeners = []
    let summary = summary()
    service?.closeAll()
    service = nil
    return summary
  }

  private static func accept(
    _ connection: Connection, _ service: SimulatorService
  ) -> (any ConnectionDelegate)? {
    guard service.acceptsConnections,
      let accepted = try? SimulatedConnection(service, connection)
    else {
      service.log("refused a connection: \(service.options.maximumConnections) are open")
      return nil
    }
    service.add(accepted)
    return accepted
  }
}

/// The ports, files and secrets of a running simulator that a provider needs.
package struct APNsSimulatorAddress: Sendable {
  package let host: String
  package let port: Int
  /// Of the legacy gateway and the feedback service, where they were asked for.
  package let binaryPort: Int?
  package let feedbackPort: Int?
  /// The PEM file with the throw-away authority: what a client must trust.
  package let authorityFile: String
  /// The `.p8` file, when the simulator made the key.
  package let providerKeyFile: String?
  /// PEM: a certificate of that authority with its key, for clients without a provider token.
  package let clientCertificateFile: String
  /// The same, but for the other environment: BadCertificateEnvironment.
  package let misplacedCertificateFile: String
  package let keyID: String
  package let teamID: String
  /// The value of `simulator-token` that requests under /simulator/ must send.
  package let controlToken: String
}
