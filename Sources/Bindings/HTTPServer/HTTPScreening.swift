/// What is to become of a request whose head has come, before any of its body is read.
package enum HTTPScreening: Sendable {
  /// It is read, with a body of so many bytes at most.
  case read(maximumBodyBytes: Int)
  /// This is its answer; its body is not read.
  case refuse(HTTPResponse)
}
