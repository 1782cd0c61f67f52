import Text

/// The head of a request, read as strictly as RFC 9112 lets a recipient be: whatever another reader
/// might take for something else is refused.
package struct HTTPHead: Equatable {
  package enum Body: Equatable {
    case none
    case length(Int)
    case chunked
  }

  package let method: String
  /// Path and query as they came.
  package let target: String
  package let path: String
  package let segments: [String]
  package let query: [HTTPRequest.Argument]
  package let headers: [String: String]
  package let body: Body
  /// Another request may follow on the connection.
  package let keepsAlive: Bool
  /// It is of HTTP/1.1: an answer without a length may come in chunks.
  let takesChunks: Bool
  /// The body comes when it is asked for (RFC 9110, section 10.1.1).
  let expectsContinue: Bool

  private struct Target {
    let text: String
    let path: String
    let segments: [String]
    let query: [HTTPRequest.Argument]
    /// Of a target in absolute form.
    let authority: String?
  }

  /// - Parameter bytes: lines that each end in CR LF, the last of them empty, without any other
  ///   control character than tabs: the parser sees to that.
  init(_ bytes: UnsafeRawBufferPointer) throws(HTTPRefusal) {
    var lines = Lines(bytes)
    guard let first = lines.next() else { throw HTTPRefusal("there is no request line") }
    let (method, target, isOld) = try Self.requestLine(first)
    let headers = try Self.fields(&lines)
    if let authority = target.authority,
      headers["host"]?.isSame(ignoringASCIICaseOf: authority) != true
    {
      throw HTTPRefusal("the address of the request names another host than Host")
    }
    guard isOld || headers["host"] != nil else { throw HTTPRefusal("there is no Host") }
    guard headers["host"]?.utf8.allSatisfy(ByteSet.authority.contains) != false else {
      throw HTTPRefusal("Host is one name or address, and perhaps a port")
    }
    self.method = method
    self.target = target.text
    path = target.path
    segments = target.segments
    query = target.query
    self.headers = headers
    body = try Self.body(headers, isOld: isOld)
    takesChunks = !isOld
    keepsAlive = !isOld && !Self.hasMember("close", headers["connection"])
    let expectation = headers["expect"]
    guard expectation?.isSame(ignoringASCIICaseOf: "100-continue") != false else {
      throw HTTPRefusal("the only expectation that is met is 100-continue")
    }
    expectsContinue = expectation != nil && !isOld
  }

  /// Method, target and version, with one space between them each (section 3).
  private static func requestLine(
    _ line: UnsafeRawBufferPointer
  ) throws(HTTPRefusal) -> (method: String, target: Target, isOld: Bool) {
    let parts = line.parts(separatedBy: UInt8(ascii: " "), most: 3)
    guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(ByteSet.token.contains) else {
      throw HTTPRefusal("the request line is a method, an address and HTTP/1.1")
    }
    let version = String(decoding: parts[2], as: UTF8.self)
    guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
      throw HTTPRefusal("only HTTP/1.1 and HTTP/1.0 are spoken here")
    }
    return (
      String(decoding: parts[0], as: UTF8.self),
      try target(parts[1]), version == "HTTP/1.0"
    )
  }

  // MARK: the address

  private static let badAddress = HTTPRefusal("the address of the request is not valid")

  /// Origin form, or absolute form (sections 3.2.1 and 3.2.2).
  private static func target(_ bytes: UnsafeRawBufferPointer) throws(HTTPRefusal) -> Target {
    guard bytes.first != UInt8(ascii: "/") else { return try target(bytes, authority: nil) }
    let text = String(decoding: bytes, as: UTF8.self).lowercased()
    guard let scheme = ["http://", "https://"].first(where: { text.hasPrefix($0) }) else {
      throw badAddress
    }
    let rest = bytes.part(scheme.utf8.count..<bytes.count)
    let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.count
    let authority = rest.part(0..<end)
    guard !authority.isEmpty, authority.allSatisfy(ByteSet.authority.contains) else {
      throw badAddress
    }
    let name = String(decoding: authority, as: UTF8.self)
    if end < rest.count, rest[end] == UInt8(ascii: "/") {
      return try target(rest.part(end..<rest.count), authority: name)
    }
    let whole = Array("/".utf8) + rest.part(end..<rest.count)
    // `rethrows` knows no typed errors.
    let result = whole.withUnsafeBytes { bytes in
      Result { () throws(HTTPRefusal) in try target(bytes, authority: name) }
    }
    return try result.get()
  }

  private static func target(
    _ bytes: UnsafeRawBufferPointer, authority: String?
  ) throws(HTTPRefusal) -> Target {
    let allowed = ByteSet.target
    guard bytes.allSatisfy({ allowed.contains($0) }) else { throw badAddress }
    let end = bytes.index(of: UInt8(ascii: "?"))
    let path = bytes.part(0..<(end ?? bytes.count))
    guard let decoded = String(percentEncoded: path) else { throw badAddress }
    // Each is decodable because the whole is.
    let segments = path.parts(separatedBy: UInt8(ascii: "/")).dropFirst()
      .compactMap { String(percentEncoded: $0) }
    var query: [HTTPRequest.Argument] = []
    if let end {
      for part in bytes.part((end + 1)..<bytes.count).parts(separatedBy: UInt8(ascii: "&"))
      where !part.isEmpty {
        query.append(try argument(part))
      }
    }
    return Target(
      text: String(decoding: bytes, as: UTF8.self), path: decoded, segments: segments,
      query: query, authority: authority)
  }

  private static func argument(
    _ part: UnsafeRawBufferPointer
  ) throws(HTTPRefusal) -> HTTPRequest.Argument {
    let end = part.index(of: UInt8(ascii: "="))
    guard let name = String(percentEncoded: part.part(0..<(end ?? part.count)), isForm: true) else {
      throw badAddress
    }
    guard let end else { return HTTPRequest.Argument(name: name, value: nil) }
    guard let value = String(percentEncoded: part.part((end + 1)..<part.count), isForm: true)
    else { throw badAddress }
    return HTTPRequest.Argument(name: name, value: value)
  }

  // MARK: the fields

  /// Fields that may occur once: a joined value would mean something else.
  private static let single: Set<String> = [
    "host", "content-length", "transfer-encoding", "expect", "authorization", "content-type",
  ]

  private static func fields(_ lines: inout Lines) throws(HTTPRefusal) -> [String: String] {
    var fields: [String: String] = [:]
    let token = ByteSet.token
    while let line = lines.next(), !line.isEmpty {
      var colon = 0
      while colon < line.count, token.contains(line[colon]) { colon += 1 }
      // A space before the colon, a name that is none, and a line that goes on with the one before
      // (sections 5.1 and 5.2).
      guard colon > 0, colon < line.count, line[colon] == UInt8(ascii: ":") else {
        throw HTTPRefusal("a header is a name, a colon at once, and a value in the same line")
      }
      let name = lowered(line, count: colon)
      let value = trimmed(line, from: colon + 1)
      guard let before = fields[name] else {
        fields[name] = value
        continue
      }
      guard !single.contains(name) else { throw HTTPRefusal("the header \(name) comes twice") }
      fields[name] = "\(before), \(value)"
    }
    return fields
  }

  private static func lowered(_ line: UnsafeRawBufferPointer, count: Int) -> String {
    String(unsafeUninitializedCapacity: count) { text in
      for index in 0..<count { text.initializeElement(at: index, to: line[index].asciiLowered) }
      return count
    }
  }

  private static func trimmed(_ line: UnsafeRawBufferPointer, from start: Int) -> String {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    var (start, end) = (start, line.count)
    while start < end, isSpace(line[start]) { start += 1 }
    while end > start, isSpace(line[end - 1]) { end -= 1 }
    return String(decoding: UnsafeRawBufferPointer(rebasing: line[start..<end]), as: UTF8.self)
  }

  /// How long the body is (section 6.3).
  private static func body(_ headers: [String: String], isOld: Bool) throws(HTTPRefusal) -> Body {
    if let coding = headers["transfer-encoding"] {
      guard headers["content-length"] == nil else {
        throw HTTPRefusal("Content-Length and Transfer-Encoding do not go together")
      }
      guard !isOld else { throw HTTPRefusal("HTTP/1.0 has no Transfer-Encoding") }
      guard coding.isSame(ignoringASCIICaseOf: "chunked") else {
        throw HTTPRefusal("Transfer-Encoding is chunked")
      }
      return .chunked
    }
    guard let text = headers["content-length"] else { return .none }
    guard !text.isEmpty, text.utf8.allSatisfy(\.isASCIIDigit), let length = Int(text) else {
      throw HTTPRefusal("Content-Length is one number")
    }
    return length == 0 ? .none : .length(length)
  }

  private static func hasMember(_ member: String, _ list: String?) -> Bool {
    guard let list else { return false }
    return list.split(separator: ",").contains {
      $0.split(whereSeparator: { $0 == " " || $0 == "\t" }).first?
        .isSame(ignoringASCIICaseOf: member) ?? false
    }
  }
}

/// The lines of a head, without their ends.
private struct Lines {
  private let bytes: UnsafeRawBufferPointer
  private var start = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  mutating func next() -> UnsafeRawBufferPointer? {
    guard let end = bytes.index(of: UInt8(ascii: "\r"), from: start) else { return nil }
    defer { start = end + 2 }
    return bytes.part(start..<end)
  }
}

/// Why a request is not read on: the status of the answer, with which the connection ends.
package struct HTTPRefusal: Error, Equatable {
  package let status: Int
  package let reason: String

  init(_ status: Int, _ reason: String) {
    self.status = status
    self.reason = reason
  }

  /// A request that is not HTTP/1.1, or not for certain.
  init(_ reason: String) { self.init(400, reason) }
}
