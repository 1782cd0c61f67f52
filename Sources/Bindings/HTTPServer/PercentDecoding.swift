extension String {
  /// The text of a URL's path or argument; nil when an escape is no escape, or what comes out has a
  /// NUL or is not UTF-8: nothing of ours is called so.
  init?(percentEncoded bytes: some Collection<UInt8>) {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var rest = bytes.makeIterator()
    while let byte = rest.next() {
      guard byte == UInt8(ascii: "%") else {
        decoded.append(byte)
        continue
      }
      guard let high = rest.next().flatMap(Self.digit), let low = rest.next().flatMap(Self.digit)
      else { return nil }
      decoded.append(high << 4 | low)
    }
    guard !decoded.contains(0) else { return nil }
    self.init(validating: decoded, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
