import TLS
import Text

/// The subscriptions of the simulator: those that were made one by one, which it keeps, and those
/// by number, which it does not. Confined to its loop.
final class Subscriptions {
  /// One that a request is for.
  struct Found {
    /// Of the address: the name of the subscription in the ledger.
    let id: [UInt8]
    let pair: P256KeyPair
    let secret: [UInt8]
    /// 65 bytes; nil: it takes messages of every VAPID key.
    let applicationServerKey: [UInt8]?
    let magic: MagicFault?
    let hasEnded: Bool
  }

  private struct Made {
    let host: String
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
    let id = Base64URL.encode(Array(try numbered.derive("address", host, name).prefix(24)))
    let one = Made(
      host: host, pair: try numbered.makePair(host, name),
      secret: try numbered.secret(host, name), applicationServerKey: applicationServerKey,
      magic: magic)
    made[Array(id.utf8)] = one
    return SimulatedSubscription(
      endpoint: numbered.endpoint(host: host, secret: id), publicKey: one.pair.publicPoint,
      secret: one.secret)
  }

  /// - Parameter path: with the query, byte for byte.
  func find(host: String, path: [UInt8]) throws(TLSError) -> Found? {
    guard let id = Self.secret(host: host, path: path) else { return nil }
    if let one = made[id] {
      guard one.host == host else { return nil }
      return Found(
        id: id, pair: one.pair, secret: one.secret, applicationServerKey: one.applicationServerKey,
        magic: one.magic, hasEnded: ended.contains(id))
    }
    guard let (secret, magic) = try numbered.find(host: host, secret: id) else { return nil }
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
    let host = rest[..<slash].prefix { $0 != ":" }
    return secret(host: String(host), path: Array(rest[slash...].utf8))
  }

  private static func secret(host: String, path: [UInt8]) -> [UInt8]? {
    let prefix = ServiceDialect(host: host).pathPrefix.utf8
    guard path.count > prefix.count, path.starts(with: prefix) else { return nil }
    return Array(path[prefix.count...])
  }
}
