import Text
import Transport

/// Which node of a Redis Cluster keeps which slot, as far as we know. Pure.
package struct ClusterMap: Equatable {
  /// Redis advises against more than 1,000 nodes; what names more is no cluster.
  static let maximumNodes = 1_000
  private static let nobody = UInt16.max

  /// Masters; a slot names one by its place here.
  private(set) var masters: [Endpoint] = []
  private var owners = [UInt16](repeating: nobody, count: RedisSlot.count)

  /// Knows nothing yet.
  init() {}

  package var isEmpty: Bool { masters.isEmpty }

  /// Where a slot is; nil when nobody has it.
  func master(of slot: Int) -> Int? {
    let owner = owners[slot]
    return owner == Self.nobody ? nil : Int(owner)
  }

  /// Follows a MOVED. A node too many is left out: the next MOVED says it again.
  mutating func move(_ slot: Int, to endpoint: Endpoint) {
    guard owners.indices.contains(slot), let master = place(of: endpoint) else { return }
    owners[slot] = UInt16(master)
  }

  private mutating func place(of endpoint: Endpoint) -> Int? {
    if let known = masters.firstIndex(of: endpoint) { return known }
    guard masters.count < Self.maximumNodes else { return nil }
    masters.append(endpoint)
    return masters.count - 1
  }

  /// Slots that nobody serves, as ranges in order.
  package var unserved: [ClosedRange<Int>] {
    var ranges: [ClosedRange<Int>] = []
    for (slot, owner) in owners.enumerated() where owner == Self.nobody {
      if let last = ranges.last, last.upperBound == slot - 1 {
        ranges[ranges.count - 1] = last.lowerBound...slot
      } else {
        ranges.append(slot...slot)
      }
    }
    return ranges
  }

  /// How many slots each master has, in the order of `masters`.
  package var slotCounts: [Int] {
    var counts = [Int](repeating: 0, count: masters.count)
    for owner in owners where owner != Self.nobody { counts[Int(owner)] += 1 }
    return counts
  }
}

extension ClusterMap {
  /// 16,384 ranges with a handful of replicas each; usual are some hundred bytes.
  static var question: RedisInquiry<ClusterMap>.Question {
    RedisInquiry.Question(command: ["CLUSTER", "SLOTS"], maximumReplyBytes: 16 << 20) {
      (reply, endpoint) throws(RedisError) in try ClusterMap(slots: reply, from: endpoint)
    }
  }

  /// Reads the reply to CLUSTER SLOTS: `[first, last, [host, port, id, more], replica…]` for each
  /// range. `answering` is the node that was asked: a node that does not know its own address means
  /// the one it was reached at.
  package init(slots reply: RedisReply, from answering: Endpoint) throws(RedisError) {
    self.init()
    if let error = reply.error { throw Self.refusal(error, answering) }
    guard reply.kind == .array else {
      throw RedisError.unexpected(reply.kind, from: "CLUSTER SLOTS")
    }
    for index in 0..<reply.count {
      let entry = reply[index]
      guard let first = entry[0].integer, let last = entry[1].integer,
        first >= 0, first <= last, last < RedisSlot.count,
        let endpoint = Self.endpoint(entry[2], from: answering)
      else {
        throw RedisError(.unexpected, "CLUSTER SLOTS of \(answering) names no slots and node")
      }
      guard let master = place(of: endpoint) else {
        throw RedisError(
          .unexpected, "CLUSTER SLOTS of \(answering) names over \(Self.maximumNodes) masters")
      }
      for slot in Int(first)...Int(last) { owners[slot] = UInt16(master) }
    }
    guard !isEmpty else {
      throw RedisError(.loading, "\(answering) knows of no slots: it is in no cluster yet")
    }
  }

  /// No host, or an empty one: the node that was asked. `?`: its host name is not configured; the
  /// address is then in the details behind the id (Redis 7).
  private static func endpoint(_ node: RedisReply, from answering: Endpoint) -> Endpoint? {
    guard let port = node[1].integer, (1...65_535).contains(port) else { return nil }
    guard let host = node[0].text, !host.isEmpty else {
      return node[0].isNull || node[0].text == ""
        ? Endpoint(host: answering.host, port: Int(port)) : nil
    }
    let address = host == "?" ? node[3].dictionary?["ip"] ?? answering.host : host
    return Endpoint(host: address, port: Int(port))
  }

  private static func refusal(_ error: RedisErrorReply, _ answering: Endpoint) -> RedisError {
    switch error.kind {
    case .noPermission:
      RedisError(
        .authentication, "our Redis user may not ask \(answering) for CLUSTER SLOTS: grant it")
    case _ where error.disposition == .wait:
      RedisError(.loading, "\(answering) does not serve yet", cause: error.message)
    default:
      RedisError(
        .refused, "\(answering) is no node of a Redis Cluster: take redis.cluster out",
        cause: error.excerpt)
    }
  }
}

/// Where a key is kept in a Redis Cluster: CRC-16 (XMODEM) of its hash tag, or of all of it,
/// modulo 16,384 (Redis Cluster specification, "Key distribution model").
package struct RedisSlot: Sendable, Hashable {
  package static let count = 16_384

  package let number: Int

  package init(_ key: UnsafeRawBufferPointer) {
    let tag = UnsafeRawBufferPointer(rebasing: key[HashTag.range(in: key)])
    number = Int(Self.checksum(tag) & UInt16(Self.count - 1))
  }

  package init(_ key: String) {
    var key = key
    self = key.withUTF8 { Self(UnsafeRawBufferPointer($0)) }
  }

  /// CRC-16 with the polynomial x¹⁶ + x¹² + x⁵ + 1, from 0, nothing reflected.
  static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt16 {
    table.withUnsafeBufferPointer { table in
      var checksum: UInt16 = 0
      for byte in bytes {
        checksum = (checksum << 8) ^ table[Int(UInt8(truncatingIfNeeded: checksum >> 8) ^ byte)]
      }
      return checksum
    }
  }

  private static let table: [UInt16] = (0..<256).map { byte in
    (0..<8).reduce(UInt16(byte) << 8) { rest, _ in
      rest & 0x8000 == 0 ? rest << 1 : (rest << 1) ^ 0x1021
    }
  }
}
