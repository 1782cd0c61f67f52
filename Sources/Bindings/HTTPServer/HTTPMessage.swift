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

/// The decision on a request whose head has arrived, before any of its body is read.
package enum HTTPScreening: Sendable {
  /// It is handed on; one with a body is refused.
  case withoutBody
  /// It is read, with a body of so many bytes at most.
  case read(maximumBodyBytes: Int)
  /// It is handed on at once, and its body is read while it comes (`HTTPRequest.stream`).
  case stream(HTTPBodyBounds)
  /// This is its answer; its body is not read.
  case refuse(HTTPResponse)
}

/// The bounds of a body that is read while it arrives.
package struct HTTPBodyBounds: Sendable {
  package let maximumBytes: Int
  /// For the whole exchange, in place of `exchangeTimeout`.
  package let limit: Duration
  /// In each `exchangeTimeout` in which the client is not held up by us.
  package let bytesPerSecond: Int

  package init(maximumBytes: Int, limit: Duration, bytesPerSecond: Int) {
    self.maximumBytes = maximumBytes
    self.limit = limit
    self.bytesPerSecond = bytesPerSecond
  }
}
