import CMicrohttpd
import Text

/// A request that is coming in, or waits for its response. Confined to its server.
final class HTTPExchange {
  let number: Int
  private let peer: PeerAddress
  private let method: String
  private let path: String
  private let segments: [String]
  private let query: [HTTPRequest.Argument]
  private let headers: [String: String]
  private var maximumBodyBytes: Int
  private var body: [UInt8] = []
  /// A larger body was announced, or came.
  private(set) var isTooLarge = false
  /// libmicrohttpd does nothing on the connection until it is resumed.
  var isSuspended = false
  var response: HTTPResponse?
  /// Takes the body while it comes.
  private(set) var stream: HTTPBodyStream?

  /// nil when the request line is none of ours.
  init?(
    _ connection: OpaquePointer, method: String, path: UnsafePointer<CChar>, number: Int,
    peer: PeerAddress, maximumBodyBytes: Int
  ) {
    let lines = Lines()
    lines.collect(connection, .GET_ARGUMENT_KIND)
    lines.collect(connection, .HEADER_KIND)
    let bytes = UnsafeRawBufferPointer(start: path, count: strlen(path))
    guard !lines.areBad, bytes.first == UInt8(ascii: "/"),
      let path = String(percentEncoded: bytes)
    else { return nil }
    self.number = number
    self.peer = peer
    self.method = method
    self.path = path
    // Each is decodable because the whole is.
    segments = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .dropFirst().compactMap { String(percentEncoded: $0) }
    query = lines.query
    headers = lines.headers
    self.maximumBodyBytes = maximumBodyBytes
    bound(maximumBodyBytes)
  }

  /// What is announced is refused before it comes.
  func bound(_ maximumBodyBytes: Int) {
    self.maximumBodyBytes = min(self.maximumBodyBytes, maximumBodyBytes)
    if let length = headers["content-length"].flatMap({ Int($0) }) {
      isTooLarge = length > self.maximumBodyBytes
    }
  }

  /// Whatever others may have, this body is read while it comes.
  func stream(_ maximumBodyBytes: Int, within limit: Duration) {
    stream = HTTPBodyStream(maximumBytes: maximumBodyBytes, limit: limit)
    isTooLarge = false
    self.maximumBodyBytes = maximumBodyBytes
    if let length = headers["content-length"].flatMap({ Int($0) }) {
      isTooLarge = length > maximumBodyBytes
    }
  }

  var whyTooLarge: String { "a body has at most \(maximumBodyBytes) bytes" }
  var bodyBytes: Int { body.count }

  func append(_ bytes: UnsafeRawBufferPointer) {
    if body.count + bytes.count > maximumBodyBytes { isTooLarge = true }
    if !isTooLarge { body.append(contentsOf: bytes) }
  }

  /// Once all of it has come, or begins to come.
  var request: HTTPRequest {
    HTTPRequest(
      method: method, path: path, segments: segments, query: query, headers: headers, body: body,
      stream: stream, peer: peer)
  }
}

/// What libmicrohttpd lists of a request.
private final class Lines {
  var query: [HTTPRequest.Argument] = []
  var headers: [String: String] = [:]
  var areBad = false

  func collect(_ connection: OpaquePointer, _ kind: MHD_ValueKind) {
    MHD_get_connection_values_n(
      connection, kind,
      { lines, kind, name, nameCount, value, valueCount in
        guard let lines else { return .NO }
        Unmanaged<Lines>.fromOpaque(lines).takeUnretainedValue().add(
          kind, UnsafeRawBufferPointer(start: name, count: name == nil ? 0 : nameCount),
          value.map { UnsafeRawBufferPointer(start: $0, count: valueCount) })
        return .YES
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private func add(
    _ kind: MHD_ValueKind, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?
  ) {
    if kind == .GET_ARGUMENT_KIND {
      let decoded = value.map { String(percentEncoded: $0) }
      guard let name = String(percentEncoded: name), decoded != .some(nil) else {
        areBad = true
        return
      }
      query.append(HTTPRequest.Argument(name: name, value: decoded ?? nil))
    } else {
      // What is no name or no value of a field (RFC 9110, sections 5.1 and 5.5) may be read as
      // another request by what stands in front of us.
      guard !name.isEmpty, name.allSatisfy(\.isOfFieldName),
        value?.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) != false
      else {
        areBad = true
        return
      }
      let name = String(decoding: name, as: UTF8.self).lowercased()
      let value = value.map { String(decoding: $0, as: UTF8.self) } ?? ""
      headers[name] = headers[name].map { "\($0), \(value)" } ?? value
    }
  }
}

extension UInt8 {
  /// A letter, a digit or one of the signs that stand in names (RFC 9110, section 5.6.2).
  fileprivate var isOfFieldName: Bool {
    isASCIIWord || "!#$%&'*+-.^_`|~".utf8.contains(self)
  }
}
