import EventLoop
import SimulatorSupport
import TLS
import Transport

/// A faithful, scriptable, fast stand-in for Firebase Cloud Messaging: the HTTP v1 interface and
/// the token endpoint, HTTP/2 over TLS with a throw-away authority, FCM's checks and answers, a
/// ledger of every registration token, and faults on request. Runs on a loop thread of its own.
///
///     let simulator = FCMSimulator(options: .init(directory: "/tmp/fcm"), log: { print($0) })
///     let address = try await simulator.start()
///     …
///     let summary = await simulator.stop()
package actor FCMSimulator {
  private nonisolated let loop: EventLoop
  private let options: FCMSimulatorOptions
  private let log: @Sendable (String) -> Void
  private var service: SimulatorService?
  private var listener: Listener?

  /// - Parameter log: one line for each thing worth a line; no token is ever in one.
  package init(options: FCMSimulatorOptions, log: @escaping @Sendable (String) -> Void) {
    self.options = options
    self.log = log
    loop = options.makeLoop("fcm simulator")
  }

  deinit { loop.stop() }

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  /// Writes certificate, authority and service account and listens. Once.
  package func start() throws(SimulatorError) -> FCMSimulatorAddress {
    guard service == nil else {
      throw SimulatorError(.cannotStart, "the simulator has been started already")
    }
    guard options.streams >= 0, (0...65_535).contains(options.port) else {
      throw SimulatorError(.badOption, "streams must not be negative, port must be 0…65535")
    }
    let files = try SimulatorFiles.prepare(options)
    var options = options
    if options.controlToken.isEmpty { options.controlToken = ControlAccess.makeToken(loop) }
    try ControlAccess.write(options.controlToken, to: options.directory)
    let account = ServiceAccount(projectID: options.projectID)
    let key: RS256KeyPair
    let listener: Listener
    let service: SimulatorService
    do {
      if let known = options.key { key = known } else { key = try SimulatorFiles.key(files) }
      let tokens = try AccessTokens(
        account, publicKeyPEM: key.publicKeyPEM, seed: options.seed &+ 1)
      service = try SimulatorService(options, tokens, loop: loop, log: log)
      let tls =
        options.usesTLS
        ? try TLSServerContext(
          certificateFile: files.certificate, keyFile: files.certificateKey, alpn: ["h2"]) : nil
      var transport = TransportOptions()
      transport.network = options.network
      listener = try Listener(
        host: options.host, port: options.port, tls: tls, options: transport, loop: loop
      ) { FCMSimulator.accept($0, service) }
    } catch {
      throw SimulatorError(.cannotStart, "the simulator cannot start", cause: "\(error)")
    }
    self.service = service
    self.listener = listener
    let endpoint = Endpoint(host: Self.name(options), port: listener.port)
    try SimulatorFiles.write(
      account, key, tokenURI: "https://\(endpoint)/token", to: files)
    return FCMSimulatorAddress(
      host: options.host, port: listener.port, authorityFile: files.authority,
      serviceAccountFile: files.serviceAccount, projectID: options.projectID,
      controlToken: options.controlToken)
  }

  /// The name by which clients find the token endpoint: that of the certificate where it listens on
  /// all addresses, which are no address of anybody.
  private static func name(_ options: FCMSimulatorOptions) -> String {
    let isAny = ["0.0.0.0", "::"].contains(options.host)
    return isAny ? options.certificateHosts.first ?? options.host : options.host
  }

  /// Returns the counts of all requests so far.
  package func summary() -> FCMSimulatorSummary { service?.summary ?? FCMSimulatorSummary() }

  /// How often a registration token was asked for and accepted.
  package func counts(of token: String) -> (requests: Int, accepted: Int) {
    guard let entry = service?.ledger.find(Array(token.utf8)) else { return (0, 0) }
    return (Int(entry.requests), Int(entry.accepted))
  }

  /// The status of the last answer about a registration token; 0: there was none.
  package func lastStatus(of token: String) -> Int {
    Int(service?.ledger.find(Array(token.utf8))?.lastStatus ?? 0)
  }

  /// The last body for a registration token, while it is among those that are kept.
  package func lastBody(of token: String) -> [UInt8]? {
    service?.ledger.body(of: Array(token.utf8))
  }

  /// Answers a question for an access token as the token endpoint does, for who has no connection.
  /// - Parameter form: the body, form-encoded.
  /// - Returns: nil where the endpoint is silent.
  package func exchange(_ form: [UInt8]) -> (status: Int, body: [UInt8])? {
    let request = OpenRequest()
    request.begin(stream: 0)
    request.isForm = true
    form.withUnsafeBytes { request.append($0) }
    return service?.exchange(request).map { ($0.status, Array($0.body.utf8)) }
  }

  package func replaceScript(_ script: FCMSimulatorScript) { service?.replaceScript(script) }

  /// Forgets ledger and numbers.
  package func reset() { service?.reset() }

  /// Closes the listener and every connection and ends the thread; the object is of no use
  /// afterwards.
  @discardableResult
  package nonisolated func stop() async -> FCMSimulatorSummary {
    let summary = await shutDown()
    loop.stop()
    return summary
  }

  private func shutDown() -> FCMSimulatorSummary {
    listener?.close()
    listener = nil
    let summary = summary()
    service?.connections.closeAll()
    service = nil
    return summary
  }

  private static func accept(
    _ connection: Connection, _ service: SimulatorService
  ) -> (any ConnectionDelegate)? {
    guard service.acceptsConnections, let accepted = try? SimulatedConnection(service, connection)
    else {
      service.log("refused a connection: \(service.options.maximumConnections) are open")
      return nil
    }
    service.add(accepted)
    return accepted
  }
}

/// The port, files and secrets of a running simulator that a sender needs.
package struct FCMSimulatorAddress: Sendable {
  package let host: String
  package let port: Int
  /// The PEM file with the throw-away authority: what a client must trust.
  package let authorityFile: String
  /// The JSON file of the service account, whose `token_uri` is this server's.
  package let serviceAccountFile: String
  package let projectID: String
  /// The value of `simulator-token` that requests under /simulator/ must send.
  package let controlToken: String
}
