import EventLoop
import SimulatorSupport
import TLS
import Transport

/// A faithful, scriptable, fast stand-in for the push services of the browsers (RFC 8030): those of
/// Google, Mozilla, Apple and Microsoft, and any other, all on one port. It speaks HTTP/2 and
/// HTTP/1.1 over TLS with a throw-away authority, and plays the service that a request's host
/// names. It verifies VAPID tokens and decrypts each message with the subscription's keys, keeps a
/// ledger of every subscription, and makes faults on request. Runs on a loop thread of its own.
///
///     let options = WebPushSimulatorOptions(directory: "/tmp/webpush")
///     let simulator = WebPushSimulator(options: options, log: { print($0) })
///     let address = try await simulator.start()
///     let subscription = try await simulator.makeSubscription(host: "fcm.googleapis.com")
///     …
///     let summary = await simulator.stop()
package actor WebPushSimulator {
  private nonisolated let loop: EventLoop
  private var options: WebPushSimulatorOptions
  private let log: @Sendable (String) -> Void
  private var service: SimulatorService?
  private var listener: Listener?

  /// - Parameter log: one line for each thing worth a line; no endpoint is ever in one.
  package init(options: WebPushSimulatorOptions, log: @escaping @Sendable (String) -> Void) {
    self.options = options
    self.log = log
    loop = options.makeLoop("web push simulator")
  }

  deinit { loop.stop() }

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  /// Writes certificate, authority and control token and listens. Once.
  package func start() throws(SimulatorError) -> WebPushSimulatorAddress {
    guard service == nil else {
      throw SimulatorError(.cannotStart, "the simulator has been started already")
    }
    guard options.streams >= 0, (0...65_535).contains(options.port) else {
      throw SimulatorError(.badOption, "streams must not be negative, port must be 0…65535")
    }
    if options.controlToken.isEmpty { options.controlToken = ControlAccess.makeToken(loop) }
    try SimulatorDirectory.make(options.directory)
    try ControlAccess.write(options.controlToken, to: options.directory)
    let accepting = AcceptedConnections()
    let listener: Listener
    let service: SimulatorService
    let files: ServerCertificates
    do {
      if options.makesVAPIDKey { options.applicationServerKey = try Self.key(options) }
      files = try ServerCertificates(
        in: options.directory, hosts: options.certificateHosts, signedBy: options.authority)
      listener = try Listener(
        host: options.host, port: options.port, tls: try Self.context(options, files),
        options: Self.transport(options), loop: loop
      ) { accepting.accept($0) }
      let numbered = try NumberedSubscriptions(
        seed: options.subscriptionSeed ?? options.seed,
        port: options.endpointsNamePort ? listener.port : nil)
      let subscriptions = Subscriptions(
        numbered, applicationServerKey: options.applicationServerKey)
      service = try SimulatorService(options, subscriptions, loop: loop, log: log)
    } catch {
      throw SimulatorError(.cannotStart, "the simulator cannot start", cause: "\(error)")
    }
    accepting.service = service
    self.service = service
    self.listener = listener
    return WebPushSimulatorAddress(
      host: options.host, port: listener.port, authorityFile: files.authority,
      vapidKeyFile: options.makesVAPIDKey ? Self.keyFile(options) : nil,
      controlToken: options.controlToken)
  }

  private static func keyFile(_ options: WebPushSimulatorOptions) -> String {
    options.directory + "/vapid.pem"
  }

  /// The public key of the pair of an earlier run, to which subscriptions are bound, or of a new
  /// one.
  private static func key(_ options: WebPushSimulatorOptions) throws(TLSError) -> [UInt8] {
    if let pem = KeptFiles.read(keyFile(options), isSecret: true),
      let kept = try? ES256Key(pem: pem)
    {
      return try kept.publicPoint()
    }
    let key = try ES256Key.generate()
    try ThrowAwayAuthority.write(key.privateKeyPEM, to: keyFile(options), mode: 0o600)
    return try key.publicPoint()
  }

  private static func context(
    _ options: WebPushSimulatorOptions, _ files: ServerCertificates
  ) throws(TLSError) -> TLSServerContext? {
    guard options.usesTLS else { return nil }
    let http1 = options.http1Hosts.map { ($0, ["http/1.1"]) }
    return try TLSServerContext(
      certificateFile: files.certificate, keyFile: files.key, alpn: ["h2", "http/1.1"],
      alpnByHost: Dictionary(http1, uniquingKeysWith: { first, _ in first }))
  }

  private static func transport(_ options: WebPushSimulatorOptions) -> TransportOptions {
    var transport = TransportOptions()
    transport.network = options.network
    return transport
  }

  // MARK: Subscriptions

  /// Makes a subscription with a key pair of its own, which the simulator keeps.
  /// - Parameters:
  ///   - host: of the service, in lower case: it decides which service is played.
  ///   - applicationServerKey: the VAPID key that it is bound to, 65 bytes; nil: it takes any.
  ///   - magic: a fault that its requests get.
  package func makeSubscription(
    host: String, applicationServerKey: [UInt8]? = nil, _ magic: MagicFault? = nil
  ) throws(SimulatorError) -> SimulatedSubscription {
    do {
      return try running().subscriptions.make(
        host: host, applicationServerKey: applicationServerKey, magic)
    } catch {
      throw SimulatorError(.cannotStart, "the subscription cannot be made", cause: "\(error)")
    }
  }

  /// The subscription of a number, which the simulator need not keep (`NumberedSubscriptions`).
  package func numberedSubscription(
    _ number: Int, host: String, _ magic: MagicFault? = nil
  ) throws(SimulatorError) -> SimulatedSubscription {
    do {
      return try running().subscriptions.numbered.subscription(number, host: host, magic)
    } catch {
      throw SimulatorError(.cannotStart, "the subscription cannot be made", cause: "\(error)")
    }
  }

  private func running() throws(SimulatorError) -> SimulatorService {
    guard let service else { throw SimulatorError(.cannotStart, "the simulator does not run") }
    return service
  }

  /// From now on requests for this subscription are answered with 410.
  package func endSubscription(_ endpoint: String) {
    if let id = Subscriptions.id(ofEndpoint: endpoint) { service?.subscriptions.end(id) }
  }

  // MARK: Ledger

  /// Returns the counts of all requests so far.
  package func summary() -> WebPushSimulatorSummary {
    service?.summary ?? WebPushSimulatorSummary()
  }

  /// How often a subscription was asked for, by requests in order, and accepted.
  package func counts(of endpoint: String) -> (requests: Int, accepted: Int) {
    guard let entry = entry(of: endpoint) else { return (0, 0) }
    return (Int(entry.requests), Int(entry.accepted))
  }

  /// The status of the last answer about a subscription to a request in order; 0: there was none.
  package func lastStatus(of endpoint: String) -> Int {
    Int(entry(of: endpoint)?.lastStatus ?? 0)
  }

  /// The last message for a subscription, decrypted, while it is among those that are kept.
  package func lastMessage(of endpoint: String) -> [UInt8]? {
    Subscriptions.id(ofEndpoint: endpoint).flatMap { service?.ledger.body(of: $0) }
  }

  private func entry(of endpoint: String) -> DeviceLedger.Entry? {
    Subscriptions.id(ofEndpoint: endpoint).flatMap { service?.ledger.find($0) }
  }

  package func replaceScript(_ script: WebPushSimulatorScript) { service?.replaceScript(script) }

  /// Forgets ledger and numbers.
  package func reset() { service?.reset() }

  /// Closes the listener and every connection and ends the thread; the object is of no use
  /// afterwards.
  @discardableResult
  package nonisolated func stop() async -> WebPushSimulatorSummary {
    let summary = await shutDown()
    loop.stop()
    return summary
  }

  private func shutDown() -> WebPushSimulatorSummary {
    listener?.close()
    listener = nil
    let summary = summary()
    service?.connections.closeAll()
    service = nil
    return summary
  }
}

/// Takes connections for a service that is made after its listener: endpoints may name the port.
private final class AcceptedConnections {
  var service: SimulatorService?

  func accept(_ connection: Connection) -> (any ConnectionDelegate)? {
    guard let service else { return nil }
    guard service.acceptsConnections else {
      service.log("refused a connection: \(service.options.maximumConnections) are open")
      return nil
    }
    let accepted = SimulatedConnection(service, connection)
    service.add(accepted)
    return accepted
  }
}

/// The port of a running simulator, and what its clients need.
package struct WebPushSimulatorAddress: Sendable {
  package let host: String
  package let port: Int
  /// The PEM file with the throw-away authority: what a client must trust.
  package let authorityFile: String
  /// The private key (PEM) of the VAPID pair that subscriptions by number are bound to; nil: the
  /// simulator has made none.
  package let vapidKeyFile: String?
  /// What requests under `/simulator/` must come with.
  package let controlToken: String
}
