import Deliver
import EventLoop
import Model
import Subscriptions
import TLS
import Transport
import WebPush
import WebPushSimulator

/// The push services of the browsers of a world: one server with several names, and a way to each.
///
/// Unchecked: confined to its world's thread.
final class WorldWebPush: @unchecked Sendable {
  private static let server = Endpoint(host: "webpush", port: 443)
  /// Each answers in its own way.
  static let hosts = [
    "fcm.googleapis.com", "updates.push.services.mozilla.com", "web.push.apple.com",
  ]
  static let endpoints = hosts.map { Endpoint(host: $0, port: 443) }
  private static let keyID = "main"
  /// Audiences are written once for many worlds, and their subscriptions with them.
  private static let subscriptionSeed: UInt64 = 1
  /// Subscriptions whose secrets a worker remembers.
  private static let secrets = 1_024

  let simulator: WebPushSimulator
  private let numbered: NumberedSubscriptions
  private let publicKey: [UInt8]
  private let network: MemoryNetwork

  /// - Parameter wallClock: ms since 1970.
  init(
    network: MemoryNetwork, seed: UInt64, directory: String, _ observer: PushObserver,
    wallClock: @escaping @Sendable () -> Int64
  ) throws {
    self.network = network
    let scheduler = network.scheduler
    publicKey = try P256KeyPair(privateKey: [UInt8](repeating: 7, count: 32)).publicPoint
    numbered = try NumberedSubscriptions(seed: Self.subscriptionSeed)
    var options = WebPushSimulatorOptions(directory: "\(directory)/webpush")
    options.host = Self.server.host
    options.port = Self.server.port
    options.applicationServerKey = publicKey
    options.seed = seed
    options.subscriptionSeed = Self.subscriptionSeed
    // OpenSSL signs with chance, and the bytes of a head are as many as its signature makes them.
    options.checksSignatures = false
    options.network = network
    options.usesTLS = false
    options.makeLoop = { scheduler.makeLoop($0) }
    options.clock = { wallClock() * 1_000 }
    options.observe = { push in WorldPush(push).map { observer.hear?($0) } }
    simulator = WebPushSimulator(options: options) { _ in }
    for endpoint in Self.endpoints { network.change(endpoint) { $0.leadsTo = Self.server } }
  }

  func start() async throws { _ = try await simulator.start() }

  /// What the lanes of a worker send with.
  /// - Parameter wallClock: the worker's, in ms since 1970.
  func services(wallClock: @escaping @Sendable () -> Int64) -> WebPushServices {
    let scheduler = network.scheduler
    let monotonic: @Sendable () -> UInt64 = { scheduler.now }
    guard let subject = VAPIDSubject("mailto:operators@example.com") else {
      preconditionFailure("nobody can be reached")
    }
    let pair = VAPIDKeys(id: Self.keyID, publicKey: publicKey) { _ in
      [UInt8](repeating: 7, count: 64)
    }
    return WebPushServices(
      VAPIDKeyRing(VAPIDKeyRing.Keys(subject: subject, pairs: [pair])),
      MessageEncryption(subscriptions: Self.secrets, monotonic: monotonic),
      rules: EndpointRules(), wallClock: wallClock, monotonic: monotonic)
  }

  /// The subscription of a device, by its number.
  /// - Parameter fault: on how many tries it gets which answer; 0: on each.
  func binding(_ number: Int, fault: (name: WebPushFault, tries: Int)? = nil) -> Binding {
    let host = Self.hosts[number % Self.hosts.count]
    let magic = fault.map { MagicFault($0.name, tries: $0.tries) }
    guard let made = try? numbered.subscription(number, host: host, magic),
      let binding = Binding(
        destination: .webpush, topic: World.app,
        keys: SubscriptionKeys.text(
          publicKey: made.publicKey, secret: made.secret, keyID: Self.keyID),
        token: made.endpoint)
    else { preconditionFailure("device \(number) has no subscription") }
    return binding
  }
}

extension WorldPush {
  /// Nil for a subscription that is no device's.
  init?(_ push: ObservedWebPush) {
    guard let number = push.number else { return nil }
    let answer: Answer =
      switch push.status {
      case nil: .unanswered
      case 201: .accepted
      case let status?: .refused(status: status, reason: Self.reason(status, push.answer))
      }
    self.init(.webpush, device: number, payload: push.message, answer)
  }

  private static func reason(_ status: Int, _ answer: WebPushAnswer) -> String {
    switch (status, answer) {
    case (410, _): "Gone"
    case (404, _): "NotFound"
    case (413, _): "PayloadTooLarge"
    // Google says 400 to credentials that are none.
    case (400, .refuse(let refusal)) where refusal.reason != .badAuthorization: "BadRequest"
    default: "status \(status)"
    }
  }
}
