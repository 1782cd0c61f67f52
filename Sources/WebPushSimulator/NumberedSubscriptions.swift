import JSON
import TLS
import Text

/// A subscription as a browser hands it to its application (W3C Push API, `PushSubscription`).
package struct SimulatedSubscription: Sendable, Equatable {
  package let endpoint: String
  /// `p256dh`: 65 bytes.
  package let publicKey: [UInt8]
  /// `auth`: 16 bytes.
  package let secret: [UInt8]

  package init(endpoint: String, publicKey: [UInt8], secret: [UInt8]) {
    self.endpoint = endpoint
    self.publicKey = publicKey
    self.secret = secret
  }

  /// As `PushSubscription.toJSON` writes it.
  package var json: JSONValue {
    [
      "endpoint": .string(endpoint), "expirationTime": .null,
      "keys": [
        "p256dh": .string(Base64URL.encode(publicKey)), "auth": .string(Base64URL.encode(secret)),
      ],
    ]
  }
}

/// A fault that the address of a subscription asks for.
package struct MagicFault: Sendable, Equatable {
  package let fault: WebPushFault
  /// The subscription's first so many requests get the fault, and later ones are accepted; 0: all
  /// of them get it.
  package let tries: Int

  package init(_ fault: WebPushFault, tries: Int = 0) {
    self.fault = fault
    self.tries = tries
  }
}

/// Subscriptions by a rule, so that a million of them need no memory: all about number n of a host
/// follows from the seed. Whoever knows the seed makes the same ones, also in another process.
///
/// The secret of an address is `<n>-<mac>`, or `<n>.<tries>.<fault>-<mac>` for one that asks for a
/// fault; the mac has 144 bits of HMAC-SHA-256 over the host and what is before it. The auth secret
/// is made in the same way, and is another one for each subscription. The key pair is one for all:
/// so a sender pays in full, since it cannot tell that they are alike, and the simulator computes
/// the curve once for each key of the sender.
///
/// Confined to its user.
package final class NumberedSubscriptions {
  private static let macBytes = 18
  private static let authBytes = 16

  private let master: [UInt8]
  private let hmac: HMACSHA256
  private let port: Int?
  let pair: P256KeyPair

  /// - Parameter port: that endpoints name; nil: that of HTTPS, which is left out.
  package init(seed: UInt64, port: Int? = nil) throws(TLSError) {
    hmac = try HMACSHA256()
    self.port = port
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: seed >> (8 * $0)) }
    master = try hmac.code(key: bytes, Array("subscriptions of a simulator".utf8))
    pair = try Self.pair(try hmac.code(key: master, Array("key pair".utf8)))
  }

  /// - Parameters:
  ///   - number: from 0 on.
  ///   - host: in lower case, without a port.
  package func subscription(
    _ number: Int, host: String, _ magic: MagicFault? = nil
  ) throws(TLSError) -> SimulatedSubscription {
    var name = String(number)
    if let magic { name += ".\(magic.tries).\(magic.fault.rawValue)" }
    let mac = try derive("address", host, name).prefix(Self.macBytes)
    return SimulatedSubscription(
      endpoint: endpoint(host: host, secret: "\(name)-\(Base64URL.encode(Array(mac)))"),
      publicKey: pair.publicPoint, secret: try secret(host, name))
  }

  /// What an address is worth; nil: nobody made it.
  func find(host: String, secret text: ArraySlice<UInt8>) throws(TLSError) -> (
    secret: [UInt8], magic: MagicFault?
  )? {
    let sides = text.split(
      separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
    guard sides.count == 2, let name = String(validating: sides[0], as: UTF8.self),
      let mac = Base64URL.decode(sides[1])
    else { return nil }
    guard mac.elementsEqual(try derive("address", host, name).prefix(Self.macBytes)) else {
      return nil
    }
    let parts = name.split(separator: ".")
    guard parts.count == 3 else { return (try secret(host, name), nil) }
    guard let tries = Int(parts[1]), let fault = WebPushFault(rawValue: String(parts[2])) else {
      return nil
    }
    return (try secret(host, name), MagicFault(fault, tries: tries))
  }

  func endpoint(host: String, secret: String) -> String {
    let authority = port.map { "\(host):\($0)" } ?? host
    return "https://\(authority)\(ServiceDialect(host: host).pathPrefix)\(secret)"
  }

  /// For subscriptions that are made one by one: bytes by the seed, 32 of them.
  func derive(_ purpose: String, _ host: String, _ name: String) throws(TLSError) -> [UInt8] {
    try hmac.code(key: master, Array("\(purpose)|\(host)|\(name)".utf8))
  }

  /// Almost every 32 bytes are a private key of P-256; the others are hashed until they are.
  func makePair(_ host: String, _ name: String) throws(TLSError) -> P256KeyPair {
    try Self.pair(try derive("pair", host, name))
  }

  func secret(_ host: String, _ name: String) throws(TLSError) -> [UInt8] {
    Array(try derive("auth", host, name).prefix(Self.authBytes))
  }

  private static func pair(_ bytes: [UInt8]) throws(TLSError) -> P256KeyPair {
    var bytes = bytes
    for _ in 0..<4 {
      if let pair = try? P256KeyPair(privateKey: bytes) { return pair }
      bytes = SecretDigest(of: bytes).bytes
    }
    return try P256KeyPair(privateKey: bytes)
  }
}
