/// What is to become of a request whose head has come, before any of its body is read.
package enum HTTPScreening: Sendable {
  /// It is read, with a body of so many bytes at most.
  case read(maximumBodyBytes: Int)
  /// It is handed on at once, and its body, of so many bytes at most, is read while it comes
  /// (`HTTPRequest.stream`). Instead of `exchangeTimeout` the whole exchange has `limit`; a client
  /// that sends nothing for `exchangeTimeout` is given up all the same.
  case stream(maximumBodyBytes: Int, limit: Duration)
  /// This is its answer; its body is not read.
  case refuse(HTTPResponse)
}
