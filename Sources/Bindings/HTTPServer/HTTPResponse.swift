/// A whole response. The server adds `Date`, `Content-Length` and `Connection`.
package struct HTTPResponse: Sendable, Equatable {
  package var status: Int
  package var contentType: String
  /// Besides those. No line ends in them: a response with any is not sent.
  package var headers: [String: String]
  package var body: [UInt8]

  package init(
    status: Int, contentType: String, headers: [String: String] = [:], body: [UInt8]
  ) {
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
