import Deliver
import EventLoop
import FCM
import FCMSimulator
import Model
import SimulatorSupport
import TLS
import Transport

/// Firebase Cloud Messaging of a world, with the server of its access tokens.
///
/// Unchecked: confined to its world's thread.
final class WorldFCM: @unchecked Sendable {
  static let endpoint = Endpoint(host: "fcm", port: 443)
  /// The workers' own: with the connection.
  private static let timeout: Duration = .seconds(10)
  /// Of all worlds: making one takes longer than many a life.
  private static let key = Result { try RS256KeyPair.generate() }

  let simulator: FCMSimulator
  private let network: MemoryNetwork
  private var account: ServiceAccount?

  /// - Parameter wallClock: ms since 1970.
  init(
    network: MemoryNetwork, seed: UInt64, directory: String, _ observer: PushObserver,
    wallClock: @escaping @Sendable () -> Int64
  ) throws {
    self.network = network
    let scheduler = network.scheduler
    var options = FCMSimulatorOptions(directory: "\(directory)/fcm")
    options.host = Self.endpoint.host
    options.port = Self.endpoint.port
    options.key = try Self.key.get()
    options.seed = seed
    options.network = network
    options.usesTLS = false
    options.makeLoop = { scheduler.makeLoop($0) }
    options.clock = { wallClock() * 1_000 }
    options.observe = { observer.hear?(WorldPush($0)) }
    simulator = FCMSimulator(options: options) { _ in }
  }

  func start() async throws {
    let address = try await simulator.start()
    let file = KeptFiles.read(address.serviceAccountFile, isSecret: true) ?? ""
    account = try ServiceAccount(file: Array(file.utf8)) { pem in
      let key = try RS256Key(pem: pem)
      return { try key.sign($0) }
    }
  }

  /// What the lanes of a worker send with.
  /// - Parameter wallClock: the worker's, in ms since 1970.
  func credentials(
    wallClock: @escaping @Sendable () -> Int64
  ) -> (account: FCMCredentials, tokens: AccessTokenSource) {
    guard let account else { preconditionFailure("FCM has not started") }
    let scheduler = network.scheduler
    let tokens = AccessTokenSource(
      .account(account), monotonic: { scheduler.now }, wallClock: wallClock,
      randomNumber: { scheduler.numbers.next() }, exchange: { [self] in await exchange($0) })
    let credentials = FCMCredentials(
      project: FCMProject(account.projectID), tokens: tokens, wallClock: wallClock)
    return (credentials, tokens)
  }

  // MARK: access tokens

  /// Goes the way of the pushes, without a connection.
  private func exchange(_ request: TokenRequest) async -> TokenReply {
    guard case .http(let http) = request else { return .failure("a service account asks by HTTP") }
    await pass(network.delay(to: Self.endpoint) * 2)
    let path = network.path(to: Self.endpoint)
    if path.isRefused { return .failure("\(Self.endpoint): Connection refused") }
    let answer = path.isSilent ? nil : await simulator.exchange(http.body)
    guard let answer else {
      await pass(Self.timeout)
      return .failure("\(Self.endpoint): no answer")
    }
    return .answer(status: answer.status, body: answer.body, retryAfter: nil)
  }

  /// A world may end before that.
  private func pass(_ time: Duration) async {
    await withUnsafeContinuation { continuation in
      network.scheduler.schedule(after: time) { continuation.resume() }
    }
  }
}

extension WorldPush {
  init(_ message: ObservedMessage) {
    let answer: Answer =
      switch message.answer {
      case .accept: .accepted
      case .expireBearer: .refused(status: 401, reason: "UNAUTHENTICATED")
      case .refuse(let refusal):
        .refused(status: refusal.status, reason: refusal.errorCode ?? refusal.name)
      case .reset, .silence, .drop: .unanswered
      }
    self.init(
      .fcm, device: WorldDevice.number(ofToken: message.token), payload: message.request, answer)
  }
}

/// Registration tokens of devices of a world. The last twelve characters are the device's number,
/// as in Apple's tokens.
enum WorldFCMToken {
  /// - Parameter fault: on how many tries the device gets which answer; 0: on each.
  static func text(_ number: Int, fault: (name: FCMFault, tries: Int)? = nil) -> String {
    let digits = WorldDevice.token(number, head: "").suffix(12)
    guard let fault else { return "device:\(digits)" }
    return MagicTokens.token(fault.name, tries: fault.tries, String(digits))
  }

  static func device(_ number: Int, fault: (name: FCMFault, tries: Int)? = nil) -> WorldDevice {
    let token = text(number, fault: fault)
    guard let binding = Binding(destination: .fcm, topic: World.app, token: token) else {
      preconditionFailure("\(token) is no token")
    }
    return WorldDevice(number, binding)
  }
}
