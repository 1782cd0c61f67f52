import Text

/// A body in chunks (RFC 9112, section 7.1). Every line ends in CR LF and is bounded. Pure.
struct ChunkDecoder {
  private enum State {
    case size, `extension`, sizeEnd, data, dataReturn, dataEnd
    case trailer, trailerName, trailerValue, trailerLineEnd, end
  }

  enum Step: Equatable {
    /// These bytes are of the body.
    case data(Range<Int>)
    case end
    case incomplete
  }

  /// Nobody sends more: it is a way to keep a server busy with nothing.
  static let maximumExtensionBytes = 256
  static let maximumTrailerBytes = 1 << 10
  private static let maximumDigits = 16

  private var state = State.size
  private var digits = 0
  private var size = 0
  private var extensionBytes = 0
  private var trailerBytes = 0

  /// Takes bytes from `offset` on, until there is something to say.
  mutating func next(
    _ bytes: UnsafeRawBufferPointer, from offset: inout Int
  ) throws(HTTPRefusal) -> Step {
    while offset < bytes.count {
      if state == .data {
        let end = offset + min(bytes.count - offset, size)
        defer { offset = end }
        size -= end - offset
        if size == 0 { state = .dataReturn }
        return .data(offset..<end)
      }
      let byte = bytes[offset]
      offset += 1
      switch state {
      case .size, .extension, .sizeEnd: try takeSizeLine(byte)
      case .dataReturn, .dataEnd:
        guard byte == (state == .dataReturn ? 0x0D : 0x0A) else {
          throw HTTPRefusal("a chunk is longer than it says")
        }
        state = state == .dataReturn ? .dataEnd : .size
      case .end:
        guard byte == 0x0A else { throw Self.badTrailer }
        return .end
      default: try takeTrailer(byte)
      }
    }
    return .incomplete
  }

  private mutating func takeSizeLine(_ byte: UInt8) throws(HTTPRefusal) {
    switch (state, byte) {
    case (.sizeEnd, 0x0A):
      state = size == 0 ? .trailer : .data
      digits = 0
    case (.size, 0x0D) where digits > 0, (.extension, 0x0D): state = .sizeEnd
    case (.size, UInt8(ascii: ";")) where digits > 0: state = .extension
    case (.extension, 0x09), (.extension, 0x20...0x7E):
      extensionBytes += 1
      guard extensionBytes <= Self.maximumExtensionBytes else {
        throw HTTPRefusal("the chunks have more extensions than anybody needs")
      }
    case (.size, _):
      guard let digit = byte.hexValue, digits < Self.maximumDigits, size <= Int.max >> 4 else {
        throw HTTPRefusal("a chunk begins with its size, a hexadecimal number, and CR LF")
      }
      digits += 1
      size = size << 4 | Int(digit)
    default: throw HTTPRefusal("the line of a chunk's size ends in CR LF")
    }
  }

  private static let badTrailer = HTTPRefusal("what follows the last chunk is no header")

  /// Read past: nobody here asks for any.
  private mutating func takeTrailer(_ byte: UInt8) throws(HTTPRefusal) {
    trailerBytes += 1
    guard trailerBytes <= Self.maximumTrailerBytes else {
      throw HTTPRefusal("what follows the last chunk is too long")
    }
    switch (state, byte) {
    case (.trailer, 0x0D): state = .end
    case (.trailer, _) where ByteSet.token.contains(byte): state = .trailerName
    case (.trailerName, UInt8(ascii: ":")): state = .trailerValue
    case (.trailerName, _) where ByteSet.token.contains(byte): break
    case (.trailerValue, 0x0D): state = .trailerLineEnd
    case (.trailerValue, _) where byte >= 0x20 && byte != 0x7F || byte == 0x09: break
    case (.trailerLineEnd, 0x0A): state = .trailer
    default: throw Self.badTrailer
    }
  }
}
