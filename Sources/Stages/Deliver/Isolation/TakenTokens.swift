import Text

/// Which tokens a route's server has taken lately: a bit for each in a table of fixed size, so that
/// it costs the same whatever the audience. Two tokens may share a bit: one of which nothing is
/// known is then thought of as one that was taken, and goes where all go in ordinary times. A pure
/// machine.
struct TakenTokens {
  /// Two generations: what is in neither is forgotten. No more than one bit of eight is set in
  /// each, so that one unknown token of five is mistaken at most.
  static let bitsOfGeneration = 1 << 21
  static let tokensOfGeneration = bitsOfGeneration / 8
  static let bytes = 2 * bitsOfGeneration / 8

  private var current: [UInt64] = []
  private var previous: [UInt64] = []
  private var count = 0

  /// Of a token's digits.
  static func hash(_ token: UnsafeRawBufferPointer) -> UInt64 {
    var hash = UInt64(truncatingIfNeeded: token.count)
    var offset = 0
    while offset + 8 <= token.count {
      hash = SplitMix64.mix(hash ^ token.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset += 8
    }
    for byte in token[offset...] { hash = SplitMix64.mix(hash ^ UInt64(byte)) }
    return hash
  }

  mutating func insert(_ hash: UInt64) {
    if current.isEmpty { current = Self.emptyGeneration }
    let (word, bit) = Self.place(hash)
    guard current[word] & bit == 0 else { return }
    current[word] |= bit
    count += 1
    guard count >= Self.tokensOfGeneration else { return }
    previous = current
    current = Self.emptyGeneration
    count = 0
  }

  func contains(_ hash: UInt64) -> Bool {
    let (word, bit) = Self.place(hash)
    return (!current.isEmpty && current[word] & bit != 0)
      || (!previous.isEmpty && previous[word] & bit != 0)
  }

  private static var emptyGeneration: [UInt64] {
    Array(repeating: 0, count: bitsOfGeneration / UInt64.bitWidth)
  }

  private static func place(_ hash: UInt64) -> (word: Int, bit: UInt64) {
    let place = Int(hash % UInt64(bitsOfGeneration))
    return (place / UInt64.bitWidth, 1 << UInt64(place % UInt64.bitWidth))
  }
}
