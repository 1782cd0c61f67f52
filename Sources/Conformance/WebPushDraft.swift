import JSON
import SingleRequests
import TLS
import Text
import WebPush
import WebPushSimulator

/// An application server: has a VAPID key, and encrypts messages as a worker does.
final class WebPushSender {
  let key: ES256Key
  let stranger: ES256Key
  let nowSeconds: Int64
  private let encryptor: MessageEncryptor

  /// - Parameters:
  ///   - vapidKey: PEM, of the pair that subscriptions are bound to.
  ///   - nowSeconds: since 1970.
  init(vapidKey: String, nowSeconds: Int64) throws {
    key = try ES256Key(pem: vapidKey)
    stranger = try ES256Key.generate()
    self.nowSeconds = nowSeconds
    encryptor = try MessageEncryptor(MessageEncryption(monotonic: { 0 }))
  }

  /// A body of 4,096 bytes at most.
  func encrypt(_ message: [UInt8], for subscription: SimulatedSubscription) throws -> [UInt8] {
    let body = UnsafeMutableRawBufferPointer.allocate(
      byteCount: MessageEncryptor.maximumBodyBytes, alignment: 1)
    defer { body.deallocate() }
    let keys = subscription.publicKey + subscription.secret
    let count = try keys.withUnsafeBytes { keys in
      try message.withUnsafeBytes { try encryptor.encrypt($0, for: keys, to: body) }
    }
    return Array(body[..<(count ?? 0)])
  }

  /// The value of `authorization` (RFC 8292), in order but for what the arguments spoil.
  /// - Parameters:
  ///   - claims: in the place of the usual ones; null: the claim is not there.
  ///   - signer: nil: the key of `k` signs.
  ///   - form: of the value, with `<t>` and `<k>` in it.
  func authorization(
    _ origin: String, claims: [String: JSONValue] = [:], algorithm: String = "ES256",
    key: ES256Key? = nil, signer: ES256Key? = nil, form: String = "vapid t=<t>, k=<k>"
  ) throws -> String {
    let usual: [(String, JSONValue)] = [
      ("aud", .string(origin)), ("exp", .integer(nowSeconds + 12 * 3600)),
      ("sub", "mailto:push@example.com"),
    ]
    let members = usual.map { ($0.0, claims[$0.0] ?? $0.1) }.filter { $0.1 != .null }
    let header: JSONValue = ["typ": "JWT", "alg": .string(algorithm)]
    let message =
      Base64URL.encode(JSONText.bytes(header)) + "."
      + Base64URL.encode(JSONText.bytes(.object(JSONObject(members))))
    let key = key ?? self.key
    let signature = try (signer ?? key).sign(Array(message.utf8))
    return form.replacing("<t>", with: "\(message).\(Base64URL.encode(signature))")
      .replacing("<k>", with: Base64URL.encode(try key.publicPoint()))
  }
}

/// A message to one subscription, in order until a rule spoils it.
struct WebPushDraft {
  let service: ServiceDialect
  let subscription: SimulatedSubscription
  let origin: String
  private let authority: String
  var method = "POST"
  var path: String
  var fields: [AppleRequest.Field]
  var body: [UInt8]

  init(
    _ subscription: SimulatedSubscription, of service: ServiceDialect, _ sender: WebPushSender
  ) throws {
    self.subscription = subscription
    self.service = service
    let rest = subscription.endpoint.dropFirst("https://".count)
    authority = String(rest.prefix { $0 != "/" })
    origin = "https://" + authority
    path = String(rest.dropFirst(authority.count))
    body = try sender.encrypt(Array(#"{"title":"Live"}"#.utf8), for: subscription)
    fields = [
      .init("ttl", "90"), .init("urgency", "high"), .init("content-encoding", "aes128gcm"),
      .init("content-type", "application/octet-stream"),
      .init("authorization", try sender.authorization(origin)),
    ]
    if service == .windows { fields.append(.init("x-wns-cache-policy", "cache")) }
  }

  /// Nil takes the field away.
  mutating func set(_ name: String, _ value: String?) {
    fields.removeAll { $0.name == name }
    if let value { fields.append(.init(name, value)) }
  }

  mutating func add(_ name: String, _ value: String) { fields.append(.init(name, value)) }

  var request: AppleRequest {
    AppleRequest(
      method: method, authority: authority, path: path, fields: fields, sealedBody: body)
  }
}
