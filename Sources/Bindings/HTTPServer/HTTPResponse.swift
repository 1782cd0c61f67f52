import Text

/// A whole response, or the head of one that goes on. The server adds `Date`, `Content-Length` or
/// `Transfer-Encoding`, and `Connection`.
package struct HTTPResponse: Sendable, Equatable {
  package var status: Int
  package var contentType: String
  /// Besides those. No line ends in them: a response with any is not sent.
  package var headers: [String: String]
  package var body: [UInt8]
  /// The stream that follows in place of `body`, until it ends or the client goes. The connection
  /// ends with it.
  package var stream: HTTPStateStream?

  package init(status: Int, contentType: String, headers: [String: String] = [:], body: [UInt8]) {
    self.status = status
    self.contentType = contentType
    self.headers = headers
    self.body = body
  }

  /// A text in UTF-8 that ends with a new line.
  package static func text(_ status: Int, _ text: String) -> HTTPResponse {
    HTTPResponse(
      status: status, contentType: "text/plain; charset=utf-8",
      body: Array((text.hasSuffix("\n") ? text : text + "\n").utf8))
  }
}

extension HTTPResponse {
  /// How a client knows where the body ends.
  enum Length {
    case known, chunked
    /// It ends with the connection.
    case untilClose
  }

  /// The bytes before the body; nil when a header would be several, or none.
  /// - Parameters:
  ///   - isLast: the connection ends with it.
  ///   - milliseconds: since 1970.
  func head(isLast: Bool, at milliseconds: Int64, length: Length = .known) -> [UInt8]? {
    var lines = headers.filter { !Self.ownFields.contains($0.key.lowercased()) }
    let isBodiless = status == 204 || status == 304
    if !isBodiless { lines["Content-Type"] = contentType }
    let isWritable = lines.allSatisfy { name, value in
      !name.isEmpty && name.utf8.allSatisfy(ByteSet.token.contains)
        && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
    guard isWritable else { return nil }
    let date = CivilTime.httpDate(milliseconds)
    var text = "HTTP/1.1 \(status) \(Self.phrase(status))\r\nDate: \(date)\r\n"
    if isLast { text += "Connection: close\r\n" }
    switch length {
    case .known: if !isBodiless { text += "Content-Length: \(body.count)\r\n" }
    case .chunked: text += "Transfer-Encoding: chunked\r\n"
    case .untilClose: break
    }
    for (name, value) in lines.sorted(by: { $0.key < $1.key }) { text += "\(name): \(value)\r\n" }
    text += "\r\n"
    return Array(text.utf8)
  }

  /// Whether its headers are headers: no other is sent.
  package var canBeSent: Bool { head(isLast: true, at: 0) != nil }

  /// Of the server itself.
  private static let ownFields: Set<String> = [
    "connection", "content-length", "content-type", "date", "transfer-encoding",
  ]

  /// Whether the handler asks for the end of the connection.
  var endsConnection: Bool { headers["Connection"]?.lowercased() == "close" }

  static let goOn = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

  private static func phrase(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 304: "Not Modified"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 413: "Content Too Large"
    case 415: "Unsupported Media Type"
    case 422: "Unprocessable Content"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 503: "Service Unavailable"
    default: ""
    }
  }
}
