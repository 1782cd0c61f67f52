import Kafka

/// Where a record goes whose sender names no partition: as librdkafka's `murmur2_random` and the
/// product's `TurnPartitioner` say.
enum MemoryPartitioner {
  /// - Parameters:
  ///   - count: of partitions, at least one.
  ///   - isSpread: whether keys that end in a number go by turns.
  ///   - random: asked where there is no key.
  static func partition(
    key: [UInt8]?, count: Int, isSpread: Bool, random: () -> UInt64
  ) -> Int32 {
    guard let key else { return Int32(random() % UInt64(count)) }
    let turn = isSpread ? key.withUnsafeBytes { TurnPartitioner.number(endingIn: $0) } : nil
    guard let turn else { return Int32(index(key[...], count)) }
    return Int32((index(key.prefix(turn.prefixLength), count) + turn.number) % count)
  }

  private static func index(_ key: ArraySlice<UInt8>, _ count: Int) -> Int {
    Int(murmur2(key) & 0x7FFF_FFFF) % count
  }

  /// As Kafka's own clients hash keys (Austin Appleby's MurmurHash2 with Kafka's seed).
  static func murmur2(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    let factor: UInt32 = 0x5BD1_E995
    var hash: UInt32 = 0x9747_B28C ^ UInt32(truncatingIfNeeded: bytes.count)
    var rest = bytes
    while rest.count >= 4 {
      var word = rest.prefix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      word = word &* factor
      word ^= word >> 24
      hash = hash &* factor ^ word &* factor
      rest = rest.dropFirst(4)
    }
    if !rest.isEmpty {
      hash ^= rest.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      hash = hash &* factor
    }
    hash ^= hash >> 13
    hash = hash &* factor
    return hash ^ hash >> 15
  }
}
