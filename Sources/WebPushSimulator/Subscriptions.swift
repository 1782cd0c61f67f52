import TLS
import Text

/// The subscriptions of the simulator: those that were made one by one, which it keeps, and those
/// by number, which it does not. Confined to its loop.
final class Subscriptions {
  /// One that a request is for.
  struct Found {
    /// The host, a slash and the secret of the address: the name of the subscription in the ledger.
    let id: [UInt8]
    let pair: P256KeyPair
    let secret: [UInt8]
    /// 65 bytes; nil: it takes messages of every VAPID key.
    let applicationServerKey: [UInt8]?
    let magic: MagicFault?
    let hasEnded: Bool
  }

  private struct Made {
    let pair: P256KeyPair
    let secret: [UInt8]
    let applicationServerKey: [UInt8]?
    let magic: MagicFault?
  }

  let numbered: NumberedSubscriptions
  private let applicationServerKey: [UInt8]?
  private var made: [[UInt8]: Made] = [:]
  private var ended: Set<[UInt8]> = []

  /// - Parameter applicationServerKey: of subscriptions by number.
  init(_ numbered: NumberedSubscriptions, applicationServerKey: [UInt8]?) {
    self.numbered = numbered
    self.applicationServerKey = applicationServerKey
  }

  /// Makes one with a key pair of its own.
  func make(
    host: String, applicationServerKey: [UInt8]?, _ magic: MagicFault?
  ) throws(TLSError) -> SimulatedSubscription {
    let name = "made \(made.count)"
    let secret = Base64URL.encode(Array(try numbered.derive("address", host, name).prefix(24)))
    let one = Made(
      pair: try numbered.makePair(host, name),
      secret: try numbered.secret(host, name), applicationServerKey: applicationServerKey,
      magic: magic)
    made[Self.id(host, Array(secret.utf8))] = one
    return SimulatedSubscription(
      endpoint: numbered.endpoint(host: host, secret: secret), publicKey: one.pair.publicPoint,
      secret: one.secret)
  }

  /// - Parameter path: with the query, byte for byte.
  func find(host: String, path: [UInt8]) throws(TLSError) -> Found? {
    guard let address = Self.secret(host: host, path: path) else { return nil }
    let id = Self.id(host, address)
    if let one = made[id] {
      return Found(
        id: id, pair: one.pair, secret: one.secret, applicationServerKey: one.applicationServerKey,
        magic: one.magic, hasEnded: ended.contains(id))
    }
    guard let (secret, magic) = try numbered.find(host: host, secret: address) else { return nil }
    return Found(
      id: id, pair: numbered.pair, secret: secret, applicationServerKey: applicationServerKey,
      magic: magic, hasEnded: ended.contains(id))
  }

  /// From now on it is gone.
  func end(_ id: [UInt8]) { ended.insert(id) }

  /// The name of a subscription in the ledger; nil for an endpoint of no form that is known.
  static func id(ofEndpoint endpoint: String) -> [UInt8]? {
    let scheme = "https://"
    guard endpoint.hasPrefix(scheme) else { return nil }
    let rest = endpoint.dropFirst(scheme.count)
    guard let slash = rest.firstIndex(of: "/") else { return nil }
    let host = String(rest[..<slash].prefix { $0 != ":" })
    return secret(host: host, path: Array(rest[slash...].utf8)).map { id(host, $0) }
  }

  /// The other way round.
  func endpoint(of id: [UInt8]) -> String {
    let sides = Self.sides(of: id)
    return numbered.endpoint(host: sides.host, secret: sides.secret)
  }

  /// The number of a subscription that has one.
  func number(of id: [UInt8]) -> Int? {
    made[id] == nil ? Int(Self.sides(of: id).secret.prefix { $0 != "-" && $0 != "." }) : nil
  }

  private static func id(_ host: String, _ secret: some Sequence<UInt8>) -> [UInt8] {
    Array(host.utf8) + [UInt8(ascii: "/")] + secret
  }

  private static func sides(of id: [UInt8]) -> (host: String, secret: String) {
    let sides = id.split(separator: UInt8(ascii: "/"), maxSplits: 1)
    func text(_ side: Int) -> String {
      side < sides.count ? String(decoding: sides[side], as: UTF8.self) : ""
    }
    return (text(0), text(1))
  }

  private static func secret(host: String, path: [UInt8]) -> ArraySlice<UInt8>? {
    let prefix = ServiceDialect(host: host).pathPrefix.utf8
    guard path.count > prefix.count, path.starts(with: prefix) else { return nil }
    return path[prefix.count...]
  }
}
