import Text

/// The answer to one HTTP/1.1 request after which the server closes the connection (RFC 9112), as
/// its bytes come. A pure parser; what is wrong or too long ends it.
struct PlainAnswer {
  enum State: Equatable {
    case incomplete
    case complete
    /// It is no answer; why, in words.
    case broken(String)
  }

  /// Of the status line and the fields, and of what stands around chunks.
  static let maximumHeadBytes = 16_384

  private(set) var status = 0
  /// Names in small letters.
  private(set) var fields: [AppleRequest.Field] = []
  private(set) var body: [UInt8] = []

  private let maximumBodyBytes: Int
  private var bytes: [UInt8] = []
  private var bodyStart: Int?

  init(maximumBodyBytes: Int) { self.maximumBodyBytes = maximumBodyBytes }

  /// - Parameter isEnd: nothing comes after these.
  mutating func receive(_ more: UnsafeRawBufferPointer, isEnd: Bool = false) -> State {
    guard bytes.count + more.count <= 2 * (Self.maximumHeadBytes + maximumBodyBytes) else {
      return .broken("the answer is too long")
    }
    bytes += more
    do throws(Flaw) {
      guard let start = try readHead() else {
        return isEnd ? .broken("the answer breaks off") : .incomplete
      }
      return try readBody(from: start, isEnd: isEnd)
    } catch {
      return .broken(error.words)
    }
  }

  private struct Flaw: Error { let words: String }

  /// Where the body begins; nil: the head is not all there.
  private mutating func readHead() throws(Flaw) -> Int? {
    if let bodyStart { return bodyStart }
    guard let end = Self.find("\r\n\r\n", in: bytes[...]) else {
      guard bytes.count <= Self.maximumHeadBytes else { throw Flaw(words: "the head is too long") }
      return nil
    }
    var lines = String(decoding: bytes[..<end], as: UTF8.self).split(
      separator: "\r\n", omittingEmptySubsequences: false)[...]
    let words = (lines.popFirst() ?? "").split(separator: " ", maxSplits: 2)
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3,
      let status = Int(words[1]), (200...599).contains(status)
    else { throw Flaw(words: "the answer is not HTTP/1.1") }
    self.status = status
    for line in lines {
      guard let colon = line.firstIndex(of: ":") else {
        throw Flaw(words: "a header field has no name")
      }
      let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      fields.append(.init(line[..<colon].lowercased(), String(value)))
    }
    bodyStart = end + 4
    return end + 4
  }

  private mutating func readBody(from start: Int, isEnd: Bool) throws(Flaw) -> State {
    let rest = bytes[start...]
    if status == 204 || status == 304 { return .complete }
    if field("transfer-encoding")?.lowercased() == "chunked" {
      return try readChunks(rest, isEnd: isEnd)
    }
    guard let length = field("content-length") else {
      try set(body: rest)
      return isEnd ? .complete : .incomplete
    }
    guard let count = Int(length), count >= 0 else { throw Flaw(words: "its length is no number") }
    guard count <= maximumBodyBytes else { throw Flaw(words: "the answer is too long") }
    guard rest.count >= count else {
      return isEnd ? .broken("the answer breaks off") : .incomplete
    }
    try set(body: rest.prefix(count))
    return .complete
  }

  private mutating func set(body: ArraySlice<UInt8>) throws(Flaw) {
    guard body.count <= maximumBodyBytes else { throw Flaw(words: "the answer is too long") }
    self.body = Array(body)
  }

  /// RFC 9112, section 7.1. Trailers are not read.
  private mutating func readChunks(
    _ encoded: ArraySlice<UInt8>, isEnd: Bool
  ) throws(Flaw) -> State {
    var rest = encoded
    var body: [UInt8] = []
    while let end = Self.find("\r\n", in: rest) {
      let digits = rest[..<end].prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") }
      guard (1...8).contains(digits.count), digits.allSatisfy(\.isASCIIHexDigit),
        let count = Int(String(decoding: digits, as: UTF8.self), radix: 16)
      else { throw Flaw(words: "a chunk has no length") }
      rest = rest[(end + 2)...]
      if count == 0 {
        try set(body: body[...])
        return .complete
      }
      guard body.count + count <= maximumBodyBytes else {
        throw Flaw(words: "the answer is too long")
      }
      guard rest.count >= count + 2 else { break }
      body += rest.prefix(count)
      rest = rest.dropFirst(count)
      guard rest.starts(with: "\r\n".utf8) else { throw Flaw(words: "a chunk has no end") }
      rest = rest.dropFirst(2)
    }
    return isEnd ? .broken("the answer breaks off") : .incomplete
  }

  func field(_ name: String) -> String? { fields.last { $0.name == name }?.value }

  private static func find(_ word: StaticString, in bytes: ArraySlice<UInt8>) -> Int? {
    let wanted = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    guard bytes.count >= wanted.count else { return nil }
    return (bytes.startIndex...bytes.endIndex - wanted.count).first {
      bytes[$0..<$0 + wanted.count].elementsEqual(wanted)
    }
  }
}
