/// The counts of each device token that was asked for: the oracle of tests. Made for millions of
/// tokens: 56 bytes an entry in chunks that never move, and 4 to 16 bytes of index.
final class TokenLedger {
  struct Entry {
    /// The 32 bytes of a usual token; of any other, `key.0` is its place in `longTokens`.
    var key: (UInt64, UInt64, UInt64, UInt64)
    /// Microseconds since 1970.
    var firstArrival: Int64
    var requests: UInt32
    var accepted: UInt32
    /// 0: no answer with a status yet.
    var lastStatus: UInt16
    /// The topic of the first push that was accepted, in `TopicNames`.
    var topic = TopicNames.unknown
    var isLong: Bool
  }

  private static let chunkBits = 14
  private static let chunkCount = 1 << chunkBits

  private(set) var count = 0
  private var chunks: [UnsafeMutablePointer<Entry>] = []
  private var index: UnsafeMutablePointer<UInt32>
  private var indexBits = 12
  private var longTokens: [[UInt8]] = []
  private var longPlaces: [[UInt8]: Int] = [:]

  init() {
    index = TokenLedger.makeIndex(bits: 12)
  }

  deinit {
    index.deallocate()
    for chunk in chunks { chunk.deallocate() }
  }

  func removeAll() {
    for chunk in chunks { chunk.deallocate() }
    chunks = []
    index.deallocate()
    indexBits = 12
    index = TokenLedger.makeIndex(bits: 12)
    longTokens = []
    longPlaces = [:]
    count = 0
  }

  /// The entry of a token, new or known. Valid until `removeAll`.
  /// - Parameter token: lower-case hex digits, an even number of them.
  func entry(
    _ token: UnsafePointer<UInt8>, _ digits: Int, arrival: Int64
  ) -> UnsafeMutablePointer<Entry> {
    guard digits == 64 else { return longEntry(token, digits, arrival: arrival) }
    let key = TokenLedger.packAll(token)
    let place = search(key)
    if index[place] != 0 { return pointer(Int(index[place]) - 1) }
    let made = append(
      Entry(
        key: key, firstArrival: arrival, requests: 0, accepted: 0, lastStatus: 0, isLong: false))
    index[place] = UInt32(count)
    if count > 1 << (indexBits - 1) { growIndex() }
    return made
  }

  /// The entry of a token that was asked for, or nil.
  func find(_ token: [UInt8]) -> Entry? {
    guard token.count == 64 else { return longPlaces[token].map { self[$0] } }
    return token.withUnsafeBufferPointer { digits -> Entry? in
      guard let base = digits.baseAddress else { return nil }
      let place = search(TokenLedger.packAll(base))
      return index[place] == 0 ? nil : self[Int(index[place]) - 1]
    }
  }

  subscript(position: Int) -> Entry { pointer(position).pointee }

  /// The token of an entry as hex digits.
  func appendToken(of entry: Entry, to output: inout [UInt8]) {
    if entry.isLong {
      output += longTokens[Int(entry.key.0)]
      return
    }
    for word in [entry.key.0, entry.key.1, entry.key.2, entry.key.3] {
      for shift in stride(from: 60, through: 0, by: -4) {
        output.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)).lastHexDigit)
      }
    }
  }

  // MARK: Helpers

  /// Where in the index a usual token stands, or would.
  private func search(_ key: (UInt64, UInt64, UInt64, UInt64)) -> Int {
    let mask = 1 << indexBits - 1
    var place = TokenLedger.hash(key, bits: indexBits)
    // Entries of other tokens are not in the index.
    while index[place] != 0, pointer(Int(index[place]) - 1).pointee.key != key {
      place = (place + 1) & mask
    }
    return place
  }

  private func pointer(_ position: Int) -> UnsafeMutablePointer<Entry> {
    chunks[position >> TokenLedger.chunkBits] + position & (TokenLedger.chunkCount - 1)
  }

  private func append(_ entry: Entry) -> UnsafeMutablePointer<Entry> {
    if count == chunks.count << TokenLedger.chunkBits {
      chunks.append(.allocate(capacity: TokenLedger.chunkCount))
    }
    let place = pointer(count)
    place.initialize(to: entry)
    count += 1
    return place
  }

  private func longEntry(
    _ token: UnsafePointer<UInt8>, _ digits: Int, arrival: Int64
  ) -> UnsafeMutablePointer<Entry> {
    let text = Array(UnsafeBufferPointer(start: token, count: digits))
    if let known = longPlaces[text] { return pointer(known) }
    longPlaces[text] = count
    longTokens.append(text)
    return append(
      Entry(
        key: (UInt64(longTokens.count - 1), 0, 0, 0), firstArrival: arrival, requests: 0,
        accepted: 0, lastStatus: 0, isLong: true))
  }

  private func growIndex() {
    indexBits += 1
    index.deallocate()
    index = TokenLedger.makeIndex(bits: indexBits)
    let mask = 1 << indexBits - 1
    for position in 0..<count {
      let entry = pointer(position)
      if entry.pointee.isLong { continue }
      var place = TokenLedger.hash(entry.pointee.key, bits: indexBits)
      while index[place] != 0 { place = (place + 1) & mask }
      index[place] = UInt32(position + 1)
    }
  }

  private static func makeIndex(bits: Int) -> UnsafeMutablePointer<UInt32> {
    let made = UnsafeMutablePointer<UInt32>.allocate(capacity: 1 << bits)
    made.initialize(repeating: 0, count: 1 << bits)
    return made
  }

  private static func hash(_ key: (UInt64, UInt64, UInt64, UInt64), bits: Int) -> Int {
    var mixed = key.0 ^ key.1 &* 0x9e37_79b9_7f4a_7c15
    mixed ^= key.2 &* 0xbf58_476d_1ce4_e5b9
    mixed ^= key.3 &* 0x94d0_49bb_1331_11eb
    mixed = (mixed ^ mixed >> 29) &* 0x9e37_79b9_7f4a_7c15
    return Int(truncatingIfNeeded: mixed >> UInt64(64 - bits))
  }

  private static func packAll(
    _ token: UnsafePointer<UInt8>
  ) -> (UInt64, UInt64, UInt64, UInt64) {
    (pack(token), pack(token + 16), pack(token + 32), pack(token + 48))
  }

  /// Sixteen hex digits as one word.
  private static func pack(_ digits: UnsafePointer<UInt8>) -> UInt64 {
    var word: UInt64 = 0
    for place in 0..<16 {
      let digit = digits[place]
      // '0'…'9' and 'a'…'f' differ in bit 6.
      word = word << 4 | UInt64(digit & 0xF &+ (digit >> 6) &* 9)
    }
    return word
  }
}
