import Glibc
import Redis

/// Takes snapshots apart: what SMEMBERS and HMGET would have answered, without a copy.
struct SnapshotReader {
  enum Content {
    case whole(bindings: RedisReply, profile: RedisReply)
    case unfit
    /// None that can be read: it lacks a field that is wanted, or is of another making.
    case absent
  }

  private let wanted: [[UInt8]]
  /// The names of the last snapshot, and for each wanted field where it is among them: most
  /// snapshots have the same names.
  private var names: [UInt8] = []
  private var places: [Int]?
  private var fields = 0
  private var values: [Range<Int>?] = []

  /// - Parameter fields: what is wanted of a profile, in this order.
  init(fields: [String]) { wanted = fields.map { Array($0.utf8) } }

  static func stamp(of bytes: UnsafeRawBufferPointer) -> SnapshotStamp? {
    guard bytes.count > SnapshotLayout.kindOffset else { return nil }
    return SnapshotStamp(
      writer: bytes.little(0, as: UInt64.self),
      batch: bytes.little(SnapshotLayout.batchOffset, as: UInt32.self))
  }

  /// - Parameter reply: a string whose stamp can be trusted.
  mutating func read(_ reply: RedisReply) -> Content {
    guard let bytes = reply.bytes, bytes.count > SnapshotLayout.kindOffset,
      let kind = SnapshotLayout.Kind(rawValue: bytes[SnapshotLayout.kindOffset])
    else { return .absent }
    guard kind == .whole else { return .unfit }
    guard let position = readNames(bytes), let places, let members = readValues(bytes, position)
    else { return .absent }
    return readMembers(reply, bytes, members, places) ?? .absent
  }

  /// - Returns: where the values begin.
  private mutating func readNames(_ bytes: UnsafeRawBufferPointer) -> Int? {
    let head = SnapshotLayout.headBytes
    guard bytes.count >= head else { return nil }
    let count = Int(bytes[SnapshotLayout.fieldsOffset])
    let length = Int(bytes.little(SnapshotLayout.nameBytesOffset, as: UInt16.self))
    guard bytes.count >= head + length else { return nil }
    let block = UnsafeRawBufferPointer(rebasing: bytes[head..<head + length])
    if places == nil || count != fields || !Self.areEqual(names, block) {
      names = Array(block)
      fields = count
      places = Self.places(of: wanted, in: block, count: count)
    }
    return head + length
  }

  private static func areEqual(_ left: [UInt8], _ right: UnsafeRawBufferPointer) -> Bool {
    guard left.count == right.count else { return false }
    guard let start = right.baseAddress else { return true }
    return left.withUnsafeBytes { $0.baseAddress.map { memcmp($0, start, right.count) } ?? 0 } == 0
  }

  private static func places(
    of wanted: [[UInt8]], in block: UnsafeRawBufferPointer, count: Int
  ) -> [Int]? {
    var known: [[UInt8]: Int] = [:]
    var position = 0
    for index in 0..<count {
      guard position < block.count else { return nil }
      let end = position + 1 + Int(block[position])
      guard end <= block.count else { return nil }
      known[Array(block[(position + 1)..<end])] = index
      position = end
    }
    let places = wanted.compactMap { known[$0] }
    return places.count == wanted.count ? places : nil
  }

  /// - Returns: where the members begin.
  private mutating func readValues(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int? {
    values.removeAll(keepingCapacity: true)
    var position = start
    for _ in 0..<fields {
      guard position + 2 <= bytes.count else { return nil }
      let length = bytes.little(position, as: UInt16.self)
      position += 2
      guard length != SnapshotLayout.missing else {
        values.append(nil)
        continue
      }
      guard position + Int(length) <= bytes.count else { return nil }
      values.append(position..<position + Int(length))
      position += Int(length)
    }
    return position
  }

  private func readMembers(
    _ reply: RedisReply, _ bytes: UnsafeRawBufferPointer, _ start: Int, _ places: [Int]
  ) -> Content? {
    guard start + 2 <= bytes.count else { return nil }
    let count = Int(bytes.little(start, as: UInt16.self))
    var position = start + 2
    // Each takes two bytes at least.
    guard position + 2 * count <= bytes.count else { return nil }
    var isSound = true
    let bindings = reply.array(count: count) { _ in
      guard isSound, position + 2 <= bytes.count else {
        isSound = false
        return nil
      }
      let begin = position + 2
      position = begin + Int(bytes.little(position, as: UInt16.self))
      guard position <= bytes.count else {
        isSound = false
        return nil
      }
      return begin..<position
    }
    guard isSound, position == bytes.count, let bindings,
      let profile = reply.array(count: places.count, { values[places[$0]] })
    else { return nil }
    return .whole(bindings: bindings, profile: profile)
  }
}
