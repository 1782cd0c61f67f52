import Text

/// Requests of one connection, one after the other (RFC 9112): bytes in, events out. How the bytes
/// are cut into pieces makes no difference. Pure.
package struct HTTPRequestParser {
  package enum Event: Equatable {
    case head(HTTPHead)
    /// These bytes are of the body.
    case body(Range<Int>)
    /// Of the body, when the head announced one; what follows is the next request.
    case end
    /// Nothing more is read of the connection.
    case refused(HTTPRefusal)
    /// All bytes are taken, and more must come.
    case incomplete
  }

  private enum State {
    case head
    case length(Int)
    case chunks(ChunkDecoder)
    case refused(HTTPRefusal)
  }

  /// Of one request, beside its request line.
  static let maximumFields = 100

  private let maximumHeadBytes: Int
  private var state = State.head
  /// Of a head, what came before.
  private var kept: [UInt8] = []
  private var headBytes = 0
  private var lines = 0
  private var lineBytes = 0
  private var isAfterReturn = false
  private var hasSkippedLine = false

  package init(maximumHeadBytes: Int) { self.maximumHeadBytes = maximumHeadBytes }

  /// No byte of a request is here.
  var isBetweenRequests: Bool {
    guard case .head = state else { return false }
    return headBytes == 0
  }

  /// - Parameter offset: of the first byte that was not taken yet.
  package mutating func next(_ bytes: UnsafeRawBufferPointer, from offset: inout Int) -> Event {
    do throws(HTTPRefusal) {
      switch state {
      case .head: return try head(bytes, &offset)
      case .length(0):
        state = .head
        return .end
      case .length(let rest):
        guard offset < bytes.count else { return .incomplete }
        let start = offset
        offset = start + min(bytes.count - start, rest)
        state = .length(rest - (offset - start))
        return .body(start..<offset)
      case .chunks(var decoder):
        let step = try decoder.next(bytes, from: &offset)
        state = step == .end ? .head : .chunks(decoder)
        switch step {
        case .data(let range): return .body(range)
        case .end: return .end
        case .incomplete: return .incomplete
        }
      case .refused(let refusal): return .refused(refusal)
      }
    } catch {
      state = .refused(error)
      return .refused(error)
    }
  }

  private mutating func head(
    _ bytes: UnsafeRawBufferPointer, _ offset: inout Int
  ) throws(HTTPRefusal) -> Event {
    var start = offset
    while offset < bytes.count {
      let byte = bytes[offset]
      offset += 1
      headBytes += 1
      guard try endsHead(byte) else {
        guard headBytes < maximumHeadBytes else {
          throw HTTPRefusal(431, "a head has at most \(maximumHeadBytes) bytes")
        }
        // An empty line before the request line, as some send behind a body (section 2.2).
        if lines == 0, lineBytes == 0, byte == 0x0A {
          kept = []
          headBytes = 0
          start = offset
        }
        continue
      }
      let head: HTTPHead
      if kept.isEmpty {
        head = try HTTPHead(UnsafeRawBufferPointer(rebasing: bytes[start..<offset]))
      } else {
        kept.append(contentsOf: bytes[start..<offset])
        let result = kept.withUnsafeBytes { bytes in
          Result { () throws(HTTPRefusal) in try HTTPHead(bytes) }
        }
        head = try result.get()
      }
      (kept, headBytes, lines, hasSkippedLine) = ([], 0, 0, false)
      state =
        switch head.body {
        case .none: .head
        case .length(let length): .length(length)
        case .chunked: .chunks(ChunkDecoder())
        }
      return .head(head)
    }
    kept.append(contentsOf: bytes[start..<offset])
    return .incomplete
  }

  /// One more byte of a head. Lines end in CR LF alone, and no other control character than a tab
  /// is part of one: others read such bytes otherwise than we do.
  private mutating func endsHead(_ byte: UInt8) throws(HTTPRefusal) -> Bool {
    if isAfterReturn {
      guard byte == 0x0A else { throw HTTPRefusal("a line of the head ends in CR LF") }
      isAfterReturn = false
      guard lineBytes > 0 else {
        guard lines == 0 else { return true }
        guard !hasSkippedLine else { throw HTTPRefusal("there is no request line") }
        hasSkippedLine = true
        return false
      }
      lines += 1
      lineBytes = 0
      guard lines <= Self.maximumFields + 1 else {
        throw HTTPRefusal(431, "a head has at most \(Self.maximumFields) headers")
      }
      return false
    }
    switch byte {
    case 0x0D: isAfterReturn = true
    case 0x0A: throw HTTPRefusal("a line of the head ends in CR LF")
    case 0x00..<0x09, 0x0B..<0x20, 0x7F:
      throw HTTPRefusal("the head has a control character")
    default: lineBytes += 1
    }
    return false
  }
}

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
