import Text

extension UnsafeRawBufferPointer {
  func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[range])
  }

  /// One part more than there are separators; an empty one is a part.
  /// - Parameter most: what comes behind so many separators is all in the last part.
  func parts(separatedBy separator: UInt8, most: Int = .max) -> [UnsafeRawBufferPointer] {
    var parts: [UnsafeRawBufferPointer] = []
    var start = 0
    for index in 0..<count where self[index] == separator && parts.count < most {
      parts.append(part(start..<index))
      start = index + 1
    }
    parts.append(part(start..<count))
    return parts
  }

  func index(of byte: UInt8, from start: Int = 0) -> Int? {
    var index = start
    while index < count {
      if self[index] == byte { return index }
      index += 1
    }
    return nil
  }
}

extension String {
  /// The text of a URL's path or argument; nil when an escape is no escape, or what comes out has a
  /// NUL or is not UTF-8: nothing of ours is called so.
  /// - Parameter isForm: of an argument, in which a plus sign is a space.
  init?(percentEncoded bytes: UnsafeRawBufferPointer, isForm: Bool = false) {
    let decoded = PercentText.decoded(bytes, isStrict: true, isForm: isForm)
    guard let decoded, !decoded.contains(0) else { return nil }
    self.init(validating: decoded, as: UTF8.self)
  }
}
