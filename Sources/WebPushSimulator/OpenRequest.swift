/// The state of one request while it comes in, and until it is answered. One for each slot of a
/// connection, used again.
final class OpenRequest {
  /// The fields that anybody looks at.
  enum Field: Int, CaseIterable {
    case method, authority, path, ttl, urgency, topic, contentEncoding, authorization, cachePolicy
    case oldEncryption, controlToken
  }

  private static let names: [(name: [UInt8], field: Field)] = [
    (":method", Field.method), (":authority", .authority), (":path", .path), ("ttl", .ttl),
    ("urgency", .urgency), ("topic", .topic), ("content-encoding", .contentEncoding),
    ("authorization", .authorization), ("x-wns-cache-policy", .cachePolicy),
    ("encryption", .oldEncryption), ("encryption-key", .oldEncryption),
    ("crypto-key", .oldEncryption), ("simulator-token", .controlToken),
  ].map { (Array($0.utf8), $1) }

  private static let controlPrefix = Array("/simulator/".utf8)
  /// Far over every message that is in order.
  private static let maximumBodyBytes = 64 << 10

  var stream: Int32 = 0
  private var values: [[UInt8]]
  private var counts: [Int]
  private(set) var isTooLong = false
  private(set) var body: [UInt8] = []
  /// The seconds of an accepted request's TTL.
  var ttl = 0

  init() {
    values = Array(repeating: [], count: Field.allCases.count)
    counts = Array(repeating: 0, count: Field.allCases.count)
  }

  func begin(stream: Int32) {
    self.stream = stream
    for index in values.indices {
      values[index].removeAll(keepingCapacity: true)
      counts[index] = 0
    }
    isTooLong = false
    ttl = 0
    body.removeAll(keepingCapacity: true)
  }

  /// The first value of a field.
  subscript(field: Field) -> [UInt8] { values[field.rawValue] }

  /// How often a field came.
  func count(_ field: Field) -> Int { counts[field.rawValue] }

  func take(_ name: some Collection<UInt8>, _ value: some Sequence<UInt8>) {
    for known in Self.names where known.name.count == name.count && known.name.elementsEqual(name) {
      take(known.field, value)
    }
  }

  func take(_ field: Field, _ value: some Sequence<UInt8>) {
    counts[field.rawValue] += 1
    if counts[field.rawValue] == 1 { values[field.rawValue].append(contentsOf: value) }
  }

  /// Not a message, but a wish of whoever steers the run.
  var isControl: Bool { self[.path].starts(with: Self.controlPrefix) }

  func append(_ bytes: some Collection<UInt8>) {
    let limit = isControl ? ControlRequests.maximumBodyBytes : Self.maximumBodyBytes
    guard body.count + bytes.count <= limit else {
      isTooLong = true
      return
    }
    body.append(contentsOf: bytes)
  }

  /// In lower case, without the port.
  var host: String {
    String(decoding: self[.authority].prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
      .lowercased()
  }

  /// As a VAPID token must name it: the port is left out where it is that of HTTPS (RFC 6454,
  /// section 6.2).
  var origin: String {
    let authority = String(decoding: self[.authority], as: UTF8.self).lowercased()
    return "https://" + (authority.hasSuffix(":443") ? String(authority.dropLast(4)) : authority)
  }

  /// The subscription's address as the sender has it, without the port of HTTPS.
  var endpoint: [UInt8] { Array(origin.utf8) + self[.path] }
}
