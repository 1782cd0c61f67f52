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
