import Text

/// Reads the answers of an HTTP/1.1 server, one to each request (RFC 9112). How their bytes are cut
/// into pieces makes no difference. It is as strict as the RFC lets a client be: bytes that two
/// readers may understand in two ways are a fault, after which nothing more is read. Pure.
package struct HTTP1AnswerReader {
  /// The server sent what is no answer, or not for certain.
  package struct Fault: Error, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
  }

  /// Of an answer's head, with the 1xx heads before it.
  static let maximumHeadBytes = 16 << 10
  /// Of a body, with all that is between its chunks and behind them. Push services send some
  /// hundred bytes.
  static let maximumBodyBytes = 1 << 20

  private enum State: Equatable {
    case head
    /// So many bytes of the body are left.
    case length(Int)
    case untilClose
    case chunkSize
    /// So many bytes of the chunk are left.
    case chunk(Int)
    /// The line end behind a chunk.
    case chunkEnd
    case trailers
    case over
  }

  /// What a head says of its own answer.
  private struct Head {
    var status = 0
    var isOld = false
    var length: Int?
    var isChunked = false
    var ends = false
    var fields: [[UInt8]: [UInt8]] = [:]
  }

  private let keptBodyBytes: Int
  private let keptFields: [[UInt8]]
  private var state = State.head
  private var head = Head()
  private var headBytes = 0
  private var bodyBytes = 0
  private var line: [UInt8] = []
  private var isAfterReturn = false
  /// As far as it has come.
  package private(set) var answer = HTTP1Answer()

  /// - Parameters:
  ///   - keptBodyBytes: of a body at most; the rest is read and dropped.
  ///   - keptFields: names of fields, in lower case.
  package init(keptBodyBytes: Int, keptFields: [[UInt8]]) {
    self.keptBodyBytes = keptBodyBytes
    self.keptFields = keptFields
  }

  /// A request is sent: the next byte is the first of its answer.
  mutating func begin() {
    self = HTTP1AnswerReader(keptBodyBytes: keptBodyBytes, keptFields: keptFields)
  }

  /// - Returns: whether the answer is whole. Bytes behind it answer nothing and end the connection.
  package mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(Fault) -> Bool {
    var offset = 0
    while offset < bytes.count, state != .over {
      switch state {
      case .length(let left), .chunk(let left):
        let count = min(left, bytes.count - offset)
        try keep(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
        offset += count
        advance(left - count)
      case .untilClose:
        try keep(UnsafeRawBufferPointer(rebasing: bytes[offset...]))
        offset = bytes.count
      case .head, .chunkSize, .chunkEnd, .trailers, .over:
        let isEnd = try takeLineByte(bytes[offset])
        offset += 1
        guard isEnd else { continue }
        try takeLine()
        line.removeAll(keepingCapacity: true)
      }
    }
    if offset < bytes.count { answer.endsConnection = true }
    return state == .over
  }

  /// The server has closed the connection.
  /// - Parameter inOrder: and nothing was lost on the way, as far as is known.
  package mutating func closed(inOrder: Bool) {
    if inOrder, state == .untilClose { finish() }
  }

  private mutating func finish() {
    state = .over
    answer.isWhole = true
  }

  // MARK: bodies

  private mutating func keep(_ bytes: UnsafeRawBufferPointer) throws(Fault) {
    try count(bytes.count)
    let room = keptBodyBytes - answer.body.count
    if room > 0 { answer.body.append(contentsOf: bytes.prefix(room)) }
  }

  private mutating func count(_ bytes: Int) throws(Fault) {
    bodyBytes += bytes
    guard bodyBytes <= Self.maximumBodyBytes else {
      throw Fault("the body of an answer has more than \(Self.maximumBodyBytes) bytes")
    }
  }

  private mutating func advance(_ left: Int) {
    if case .chunk = state {
      state = left > 0 ? .chunk(left) : .chunkEnd
    } else if left > 0 {
      state = .length(left)
    } else {
      finish()
    }
  }

  /// Extensions are read past.
  private static func chunkSize(_ line: [UInt8]) throws(Fault) -> Int {
    let digits = line.prefix { $0 != UInt8(ascii: ";") }
    guard (1...8).contains(digits.count), digits.allSatisfy(\.isASCIIHexDigit) else {
      throw Fault("a chunk of an answer does not begin with its size")
    }
    return digits.reduce(0) { $0 << 4 | Int($1.hexValue ?? 0) }
  }

  // MARK: lines

  /// - Returns: whether `line` is a whole line. Lines end in CR LF alone.
  private mutating func takeLineByte(_ byte: UInt8) throws(Fault) -> Bool {
    if state == .head {
      headBytes += 1
      guard headBytes <= Self.maximumHeadBytes else {
        throw Fault("the head of an answer has more than \(Self.maximumHeadBytes) bytes")
      }
    } else {
      try count(1)
    }
    if isAfterReturn {
      guard byte == 0x0A else { throw Fault("a line of an answer does not end in CR LF") }
      isAfterReturn = false
      return true
    }
    switch byte {
    case 0x0D: isAfterReturn = true
    case 0x00..<0x09, 0x0A..<0x20, 0x7F: throw Fault("an answer has a control character")
    default:
      guard line.count < Self.maximumHeadBytes else { throw Fault("a line is too long") }
      line.append(byte)
    }
    return false
  }

  private mutating func takeLine() throws(Fault) {
    switch state {
    case .head:
      if head.status == 0 {
        try takeStatusLine()
      } else if line.isEmpty {
        try endHead()
      } else {
        try takeField()
      }
    case .chunkSize:
      let size = try Self.chunkSize(line)
      state = size > 0 ? .chunk(size) : .trailers
    case .chunkEnd:
      guard line.isEmpty else { throw Fault("a chunk of an answer is longer than it says") }
      state = .chunkSize
    case .trailers: if line.isEmpty { finish() }
    case .length, .chunk, .untilClose, .over: break
    }
  }

  /// `HTTP/1.1 201 Created`; the words, and the space before them, may be missing (section 4).
  private mutating func takeStatusLine() throws(Fault) {
    let start = Array("HTTP/1.".utf8)
    guard line.count >= 12, line.starts(with: start), line[7].isASCIIDigit, line[8] == 0x20,
      line.count == 12 || line[12] == 0x20, line[9..<12].allSatisfy(\.isASCIIDigit)
    else { throw Fault("the server does not speak HTTP/1.1") }
    let status = line[9..<12].reduce(0) { $0 * 10 + Int($1 - 0x30) }
    guard (100...599).contains(status), status != 101 else {
      throw Fault("no request is answered with the status \(status)")
    }
    head.status = status
    head.isOld = line[7] == UInt8(ascii: "0")
  }

  private mutating func takeField() throws(Fault) {
    // A space before the colon, and a line that goes on with the one before, are none (section 5).
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0,
      line[..<colon].allSatisfy(Self.isToken)
    else { throw Fault("a line of an answer's head is no field") }
    let name = line[..<colon].map(\.asciiLowered)
    let value = Self.trimmed(line[(colon + 1)...])
    switch String(decoding: name, as: UTF8.self) {
    case "content-length":
      guard (1...15).contains(value.count), value.allSatisfy(\.isASCIIDigit) else {
        throw Fault("Content-Length is no number")
      }
      let length = value.reduce(0) { $0 * 10 + Int($1 - 0x30) }
      guard head.length ?? length == length else { throw Fault("an answer has two lengths") }
      head.length = length
    case "transfer-encoding":
      guard !head.isChunked, Self.isWord("chunked", value) else {
        throw Fault("Transfer-Encoding is not chunked")
      }
      head.isChunked = true
    case "connection":
      let members = value.split(separator: UInt8(ascii: ","))
      if members.contains(where: { Self.isWord("close", Self.trimmed($0)) }) { head.ends = true }
    default: if keptFields.contains(name) { head.fields[name] = Array(value) }
    }
  }

  /// How long the body is (section 6.3).
  private mutating func endHead() throws(Fault) {
    let head = head
    self.head = Head()
    guard head.status >= 200 else { return }
    answer.status = head.status
    answer.fields = head.fields
    answer.endsConnection = head.ends || head.isOld
    guard head.status != 204, head.status != 304 else { return finish() }
    if head.isChunked {
      guard head.length == nil, !head.isOld else {
        throw Fault("Transfer-Encoding is not chunked, or goes with Content-Length")
      }
      state = .chunkSize
    } else if let length = head.length {
      if length > 0 { state = .length(length) } else { finish() }
    } else {
      state = .untilClose
      answer.endsConnection = true
    }
  }

  private static func isWord(_ word: String, _ value: ArraySlice<UInt8>) -> Bool {
    value.count == word.utf8.count && value.map(\.asciiLowered).elementsEqual(word.utf8)
  }

  private static func trimmed(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    var value = value.drop(while: isSpace)
    while let last = value.last, isSpace(last) { value.removeLast() }
    return value
  }

  /// RFC 9110, section 5.6.2.
  private static func isToken(_ byte: UInt8) -> Bool {
    byte.isASCIILetter || byte.isASCIIDigit || tokenMarks.contains(byte)
  }

  private static let tokenMarks = Array("!#$%&'*+-.^_`|~".utf8)
}

/// An answer of an HTTP/1.1 server, as far as it is kept.
package struct HTTP1Answer: Equatable {
  /// Of the final head; 0 until that has come.
  package fileprivate(set) var status = 0
  /// Of those that are kept; of several of one name the last.
  package fileprivate(set) var fields: [[UInt8]: [UInt8]] = [:]
  package fileprivate(set) var body: [UInt8] = []
  /// It was read to its end.
  package fileprivate(set) var isWhole = false
  /// No request may follow on the connection.
  package var endsConnection = false
}
