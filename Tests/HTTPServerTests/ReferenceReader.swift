import Text

@testable import HTTPServer

/// RFC 9112 once more, written naively over whole texts, for what the parser is compared with.
struct ReferenceReader {
  struct Request: Equatable {
    let method: String
    let fields: [String: String]
    let body: [UInt8]
  }

  /// Those before the first that is none, or that has not come whole.
  static func requests(_ bytes: [UInt8]) -> [Request] {
    var reader = ReferenceReader(rest: bytes[...])
    var all: [Request] = []
    while let request = reader.next() { all.append(request) }
    return all
  }

  private var rest: ArraySlice<UInt8>

  private mutating func line(_ isGood: (UInt8) -> Bool) -> String? {
    guard let end = rest.firstIndex(of: 0x0D), rest.index(after: end) < rest.endIndex,
      rest[end + 1] == 0x0A, rest[..<end].allSatisfy(isGood)
    else { return nil }
    let line = String(decoding: rest[..<end], as: UTF8.self)
    rest = rest[(end + 2)...]
    return line
  }

  private static func isText(_ byte: UInt8) -> Bool { byte == 9 || byte >= 32 && byte != 127 }

  private mutating func next() -> Request? {
    if rest.starts(with: [0x0D, 0x0A]) { rest = rest.dropFirst(2) }
    guard let first = line(Self.isText) else { return nil }
    let words = first.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, Self.isToken(words[0]), ["HTTP/1.1", "HTTP/1.0"].contains(words[2]),
      words[1].hasPrefix("/"), Self.isTarget(words[1])
    else { return nil }
    var fields: [String: [String]] = [:]
    while true {
      guard let line = line(Self.isText) else { return nil }
      guard !line.isEmpty else { break }
      let pair = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, Self.isToken(pair[0]) else { return nil }
      let value = pair[1].utf8.drop { $0 == 32 || $0 == 9 }.reversed().drop { $0 == 32 || $0 == 9 }
      fields[pair[0].lowercased(), default: []].append(
        String(decoding: value.reversed(), as: UTF8.self))
    }
    let isOld = words[2] == "HTTP/1.0"
    let hosts = fields["host"] ?? []
    let isHost = { (byte: UInt8) in byte.isASCIIWord || ".-_~!$&'()*+;=:%[]".utf8.contains(byte) }
    guard hosts.count == 1 || isOld && hosts.isEmpty,
      hosts.allSatisfy({ $0.utf8.allSatisfy(isHost) }),
      Self.isExpectation(fields["expect"]),
      fields["authorization"]?.count ?? 1 == 1, fields["content-type"]?.count ?? 1 == 1,
      let body = body(fields["content-length"], fields["transfer-encoding"], isOld)
    else { return nil }
    return Request(
      method: String(words[0]), fields: fields.mapValues { $0.joined(separator: ", ") }, body: body)
  }

  private static func isExpectation(_ values: [String]?) -> Bool {
    guard let values else { return true }
    return values.count == 1 && values[0].lowercased() == "100-continue"
  }

  private mutating func body(
    _ lengths: [String]?, _ codings: [String]?, _ isOld: Bool
  ) -> [UInt8]? {
    if let codings {
      guard lengths == nil, !isOld, codings.map({ $0.lowercased() }) == ["chunked"] else {
        return nil
      }
      return chunks()
    }
    guard let lengths else { return [] }
    guard lengths.count == 1, lengths[0].allSatisfy({ "0123456789".contains($0) }),
      let length = Int(lengths[0]), rest.count >= length
    else { return nil }
    defer { rest = rest.dropFirst(length) }
    return Array(rest.prefix(length))
  }

  private mutating func chunks() -> [UInt8]? {
    var (body, extras) = ([UInt8](), 0)
    while true {
      guard let line = line({ $0 == 9 || $0 >= 32 && $0 < 127 }) else { return nil }
      let parts = line.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count > 1 { extras += parts[1].utf8.count }
      guard (1...16).contains(parts[0].count), extras <= 256,
        parts[0].allSatisfy({ "0123456789abcdefABCDEF".contains($0) }),
        let size = Int(parts[0], radix: 16)
      else { return nil }
      guard size > 0 else { break }
      guard rest.count >= size, rest.dropFirst(size).starts(with: [0x0D, 0x0A]) else { return nil }
      body += rest.prefix(size)
      rest = rest.dropFirst(size + 2)
    }
    while true {
      guard let line = line(Self.isText) else { return nil }
      guard !line.isEmpty else { return body }
      let pair = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, Self.isToken(pair[0]) else { return nil }
    }
  }

  private static func isToken(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0.isASCIIWord || "!#$%&'*+-.^_`|~".utf8.contains($0) }
  }

  private static func isTarget(_ text: Substring) -> Bool {
    text.utf8.allSatisfy { $0.isASCIIWord || "-._~!$&'()*+,;=:@/?".utf8.contains($0) }
  }
}
