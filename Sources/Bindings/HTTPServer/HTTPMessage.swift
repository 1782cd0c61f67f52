/// A request that has come whole, or whose body is read while it comes.
package struct HTTPRequest: Sendable, Equatable {
  package struct Argument: Sendable, Equatable {
    package let name: String
    /// nil when there is no `=`.
    package let value: String?
  }

  /// As it was sent; methods are told apart by case.
  package let method: String
  /// Percent-decoded; begins with `/`.
  package let path: String
  /// The parts of the path between its slashes, each decoded for itself: an escaped slash is part
  /// of a name.
  package let segments: [String]
  /// The arguments behind the `?`, decoded, in order.
  package let query: [Argument]
  /// Names in lower case; what comes several times is joined by `, `.
  package let headers: [String: String]
  package internal(set) var body: [UInt8]
  /// The body, of a request that is answered while it comes; `body` is empty then.
  package internal(set) var stream: HTTPBodyStream?
  package let peer: PeerAddress

  package init(
    method: String, path: String, segments: [String]? = nil, query: [Argument] = [],
    headers: [String: String] = [:], body: [UInt8] = [], stream: HTTPBodyStream? = nil,
    peer: PeerAddress = .init(number: 0)
  ) {
    self.method = method
    self.path = path
    self.segments =
      segments
      ?? path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
      .map(String.init)
    self.query = query
    self.headers = headers
    self.body = body
    self.stream = stream
    self.peer = peer
  }

  init(_ head: HTTPHead, from peer: PeerAddress) {
    method = head.method
    path = head.path
    segments = head.segments
    query = head.query
    headers = head.headers
    body = []
    stream = nil
    self.peer = peer
  }
}
