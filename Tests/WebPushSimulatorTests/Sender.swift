import Fixtures
import HTTP2
import JSON
import Subscriptions
import TLS
import Telemetry
import Text
import WebPushSimulator

@testable import WebPush

/// An application server: has a VAPID key, and encrypts as the worker does.
final class Sender {
  let key: ES256Key
  private let encryptor: MessageEncryptor

  init(key: ES256Key? = nil) throws {
    self.key = try key ?? ES256Key.generate()
    encryptor = try MessageEncryptor(MessageEncryption(monotonic: { 0 }))
  }

  /// A request that is in order.
  func request(
    _ subscription: SimulatedSubscription, _ message: String = #"{"title":"Live"}"#,
    now: Int64? = nil
  ) throws -> PushRequest {
    let target = try PushEndpoint(
      subscription.endpoint, rules: EndpointRules(hosts: .open, ports: [8443]))
    var request = PushRequest()
    request.authority = target.port == 443 ? target.host : "\(target.host):\(target.port)"
    request.path = target.target
    request["authorization"] = try authorization(target.origin, now: now)
    if target.host.hasSuffix("notify.windows.com") { request["x-wns-cache-policy"] = "cache" }
    request.body = try encrypt(message, for: subscription)
    return request
  }

  func encrypt(_ message: String, for subscription: SimulatedSubscription) throws -> [UInt8] {
    let keys = try SubscriptionKeys(
      p256dh: Base64URL.encode(subscription.publicKey), auth: Base64URL.encode(subscription.secret))
    let body = UnsafeMutableRawBufferPointer.allocate(
      byteCount: MessageEncryptor.maximumBodyBytes, alignment: 1)
    defer { body.deallocate() }
    let count = try keys.bytes.withUnsafeBytes { keys in
      try Array(message.utf8).withUnsafeBytes { try encryptor.encrypt($0, for: keys, to: body) }
    }
    return Array(body[..<(count ?? 0)])
  }

  /// The value of `authorization`, in order but for what the arguments spoil.
  func authorization(
    _ origin: String, now: Int64? = nil, header: String = #"{"typ":"JWT","alg":"ES256"}"#,
    signer: ES256Key? = nil, _ change: (inout JSONObject) -> Void = { _ in }
  ) throws -> String {
    let seconds = now ?? WallClock.nowMicroseconds() / 1_000_000
    var claims = JSONObject([
      ("aud", .string(origin)), ("exp", .integer(seconds + 12 * 3600)),
      ("sub", "mailto:push@example.com"),
    ])
    change(&claims)
    let message =
      Base64URL.encode(Array(header.utf8)) + "."
      + Base64URL.encode(JSONText.bytes(.object(claims)))
    let signature = try (signer ?? key).sign(Array(message.utf8))
    return "vapid t=\(message).\(Base64URL.encode(signature)), k="
      + Base64URL.encode(try key.publicPoint())
  }
}

/// A request with fields that tests spoil.
struct PushRequest {
  var method = "POST"
  var authority = ""
  var path = ""
  var fields: [(name: String, value: String)] = [
    ("ttl", "90"), ("urgency", "high"), ("content-encoding", "aes128gcm"),
    ("content-type", "application/octet-stream"),
  ]
  var body: [UInt8] = []

  /// Nil takes the field away.
  subscript(_ name: String) -> String? {
    get { fields.first { $0.name == name }?.value }
    set {
      fields.removeAll { $0.name == name }
      if let newValue { fields.append((name, newValue)) }
    }
  }

  /// As HTTP/1.1 has it.
  var http1: [UInt8] {
    var text = "\(method) \(path) HTTP/1.1\r\nHost: \(authority)\r\n"
    text += "Content-Length: \(body.count)\r\n"
    for field in fields { text += "\(field.name): \(field.value)\r\n" }
    return Array("\(text)\r\n".utf8) + body
  }

  func changed(_ change: (inout PushRequest) -> Void) -> PushRequest {
    var copy = self
    change(&copy)
    return copy
  }
}

typealias Reply = HTTP2Reply

extension Reply {
  var json: JSONObject? { (try? JSONValue.parse(body))?.object }

  /// `401 errno109`, `403 BadJwtToken`, `410 a text`: the status and the service's word.
  var verdict: String {
    if let number = json?["errno"]?.integer { return "\(status) errno\(number)" }
    if let reason = json?["reason"]?.string { return "\(status) \(reason)" }
    if let title = text.firstRange(of: "<TITLE>"), let end = text.firstRange(of: "</TITLE>") {
      return "\(status) \(text[title.upperBound..<end.lowerBound])"
    }
    return "\(status)"
  }
}

extension HTTP2Client {
  func start(_ request: PushRequest) throws -> Int {
    var fields: [(name: String, value: String, indexing: HTTP2Indexing)] = [
      (":method", request.method, .indexed), (":scheme", "https", .indexed),
      (":authority", request.authority, .indexed), (":path", request.path, .never),
    ]
    for field in request.fields { fields.append((field.name, field.value, .indexed)) }
    return try start(fields, body: request.body)
  }

  func send(_ request: PushRequest) async throws -> Reply {
    await reply(to: try start(request))
  }
}
