import Text

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
      guard let high = rest.next().flatMap(\.hexValue),
        let low = rest.next().flatMap(\.hexValue)
      else { return nil }
      decoded.append(high << 4 | low)
    }
    guard !decoded.contains(0) else { return nil }
    self.init(validating: decoded, as: UTF8.self)
  }
}
