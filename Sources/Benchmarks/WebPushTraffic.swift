import Deliver
import EventLoop
import Model
import Processes
import ServerProcesses
import Subscriptions
import TLS
import Telemetry
import Text
import Transport
import WebPush
import WebPushSimulator

/// The same push as `BenchTraffic`'s, as a browser's push service gets it, encrypted for each
/// subscription. All go to one service, over and over to the same subscriptions.
package enum WebPushTraffic {
  /// How the secrets of subscriptions are had: most of what encryption may cost.
  package enum Secrets: String, CaseIterable, Sendable {
    /// One key pair of the sender for an hour; each secret is computed once.
    case cached
    /// The same, but each secret is computed again, as for subscriptions that are all new.
    case uncached
    /// A key pair for each message.
    case fresh
  }

  /// Few enough for the cache to hold them all: it is a table of sets of four.
  static let subscriptions = 4_096
  /// A table that has forgotten each secret when its subscription's turn comes.
  private static let smallTable = subscriptions / 8

  private static let host = "fcm.googleapis.com"
  private static let keyID = "main"
  private static let seed: UInt64 = 1
  private static let subject = "mailto:bench@example.com"

  /// As Render makes it of a template for Apple.
  static let payload = NumberedPayload(
    #"{"notification":{"title":"Aiko is live","body":"Hi "#,
    #", tune in now: Speedrun night","lang":"en","dir":"ltr","#
      + #""data":{"stream":{"id":"b-991","streamer":"s42"}},"tag":"live-s42"}}"#)

  static func simulatorOptions(directory: String) -> WebPushSimulatorOptions {
    var options = WebPushSimulatorOptions(directory: directory)
    options.streams = 1_000
    options.seed = seed
    return options
  }

  static func traffic() throws(LocalRunError) -> SenderTraffic {
    SenderTraffic(try simulated().map(binding), payload: payload)
  }

  private static func simulated() throws(LocalRunError) -> [SimulatedSubscription] {
    try orFail { () throws(TLSError) in
      let numbered = try NumberedSubscriptions(seed: seed)
      return try (0..<subscriptions).map { number throws(TLSError) in
        try numbered.subscription(number, host: host)
      }
    }
  }

  private static func binding(
    _ subscription: SimulatedSubscription
  ) throws(LocalRunError) -> Binding {
    try orFail { () throws(BrowserSubscription.Problem) in
      try BrowserSubscription(
        topic: BenchTraffic.topic, endpoint: subscription.endpoint,
        p256dh: Base64URL.encode(subscription.publicKey),
        auth: Base64URL.encode(subscription.secret), keyID: keyID, rules: SubscriptionRules()
      ).binding
    }
  }

  static func encryption(_ secrets: Secrets) -> MessageEncryption {
    let monotonic: @Sendable () -> UInt64 = { MonotonicClock.nowNanoseconds() }
    return switch secrets {
    case .cached: MessageEncryption(monotonic: monotonic)
    case .uncached: MessageEncryption(subscriptions: smallTable, monotonic: monotonic)
    case .fresh: MessageEncryption(freshKeys: true, monotonic: monotonic)
    }
  }

  /// - Parameter privateKey: 32 bytes, any.
  static func services(
    _ secrets: Secrets, privateKey: [UInt8]
  ) throws(LocalRunError) -> WebPushServices {
    guard let subject = VAPIDSubject(subject) else {
      throw LocalRunError(.failed, "the subject of the bench is none")
    }
    let pair = try orFail { () throws(VAPIDProblem) in
      try VAPIDKeys(id: keyID, privateKey: Base64URL.encode(privateKey))
    }
    return WebPushServices(
      VAPIDKeyRing(VAPIDKeyRing.Keys(subject: subject, pairs: [pair])), encryption(secrets),
      rules: EndpointRules(), wallClock: { WallClock.nowMilliseconds() },
      monotonic: { MonotonicClock.nowNanoseconds() })
  }

  /// A way to the simulator that keeps the services' names.
  /// - Parameter ready: `host`, `port` and `ca_file` of the simulator.
  static func target(_ ready: JSONReport) throws(LocalRunError) -> RouteTarget {
    let caFile = try ready.text("ca_file")
    let trust = try orFail { () throws(TLSError) in
      try TLSClientContext(caFile: caFile, alpn: ["h2"])
    }
    var target = RouteTarget(endpoint: Endpoint(host: host, port: 443), tls: trust)
    target.connectTo = Endpoint(host: try ready.text("host"), port: try ready.integer("port"))
    return target
  }

  // MARK: cryptography alone

  /// Encrypts the messages that would be sent, for the same subscriptions.
  /// - Returns: how long it took, in nanoseconds.
  static func encrypt(_ count: Int, _ secrets: Secrets) throws(LocalRunError) -> UInt64 {
    let keys = try simulated().flatMap { $0.publicKey + $0.secret }
    let subscriptions = UnsafeMutableRawBufferPointer.allocate(byteCount: keys.count, alignment: 16)
    defer { subscriptions.deallocate() }
    subscriptions.copyBytes(from: keys)
    let message = UnsafeMutableRawBufferPointer.allocate(
      byteCount: payload.bytes.count, alignment: 16)
    defer { message.deallocate() }
    message.copyBytes(from: payload.bytes)
    let body = UnsafeMutableRawBufferPointer.allocate(
      byteCount: MessageEncryptor.maximumBodyBytes, alignment: 16)
    defer { body.deallocate() }
    let startedAt = MonotonicClock.nowNanoseconds()
    try orFail { () throws(TLSError) in
      let encryptor = try MessageEncryptor(encryption(secrets))
      for number in 0..<count {
        payload.write(number, to: message)
        let start = number % Self.subscriptions * SubscriptionKeys.byteCount
        let subscription = UnsafeRawBufferPointer(
          rebasing: UnsafeRawBufferPointer(subscriptions)[
            start..<start + SubscriptionKeys.byteCount])
        _ = try encryptor.encrypt(UnsafeRawBufferPointer(message), for: subscription, to: body)
      }
    }
    return MonotonicClock.nowNanoseconds() - startedAt
  }

  /// A failure here is a fault of the bench.
  private static func orFail<T, Problem: Error>(
    _ body: () throws(Problem) -> T
  ) throws(LocalRunError) -> T {
    do throws(Problem) {
      return try body()
    } catch {
      throw LocalRunError(.failed, "\(error)")
    }
  }
}
