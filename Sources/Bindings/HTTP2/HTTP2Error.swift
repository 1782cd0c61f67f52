import CNghttp2

/// Why an HTTP/2 session cannot do what was asked. Everything but `.invalidHeader`,
/// `.slotUnavailable` and `.goingAway` is fatal: the connection must be closed, and the session
/// reports nothing more.
package struct HTTP2Error: Error, Sendable, CustomStringConvertible {
  package enum Code: String, Sendable {
    /// A field name or value holds bytes that HTTP/2 forbids (RFC 9113, section 8.2.1).
    case invalidHeader
    /// The slot is out of range or its stream has not closed yet.
    case slotUnavailable
    /// The peer sent GOAWAY, or the 2^30 stream identifiers of a connection are used up: open a new
    /// one.
    case goingAway
    /// The session was abandoned, or failed before.
    case closed
    /// The peer broke the protocol; a GOAWAY that says so has been handed to the caller.
    case protocolViolation
    /// The peer sent more control frames than any well-behaved one does.
    case flooded
    /// nghttp2 gave up: out of memory, or a state it does not recover from.
    case library
  }

  package let code: Code
  package let message: String
  /// nghttp2's own (negative) error code, or 0.
  package let cause: Int32

  package var description: String { message }

  init(_ code: Code, _ message: String, cause: Int32 = 0) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  /// An error that nghttp2 returned while we did what `operation` names.
  static func library(_ cause: Int32, while operation: String) -> HTTP2Error {
    let reason = String(cString: nghttp2_strerror(cause))
    switch cause {
    case NGHTTP2_ERR_FLOODED.rawValue, NGHTTP2_ERR_TOO_MANY_SETTINGS.rawValue,
      NGHTTP2_ERR_TOO_MANY_CONTINUATIONS.rawValue:
      return HTTP2Error(.flooded, "the peer floods us while \(operation): \(reason)", cause: cause)
    case NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue, NGHTTP2_ERR_SETTINGS_EXPECTED.rawValue,
      NGHTTP2_ERR_PROTO.rawValue:
      return HTTP2Error(
        .protocolViolation, "the peer does not speak HTTP/2 (\(reason)); check host and port",
        cause: cause)
    case NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE.rawValue:
      return HTTP2Error(
        .goingAway, "this connection has no stream identifiers left; open a new one", cause: cause)
    default:
      return HTTP2Error(.library, "nghttp2 failed while \(operation): \(reason)", cause: cause)
    }
  }
}

/// The error codes of RST_STREAM and GOAWAY (RFC 9113, section 7) that we send or look for.
package enum HTTP2ErrorCode {
  package static let noError: UInt32 = 0
  package static let protocolError: UInt32 = 1
  package static let internalError: UInt32 = 2
  package static let refusedStream: UInt32 = 7
  package static let cancel: UInt32 = 8
  package static let enhanceYourCalm: UInt32 = 11

  /// `REFUSED_STREAM` and the like, for log lines.
  package static func name(_ code: UInt32) -> String {
    code <= 13 ? String(cString: nghttp2_http2_strerror(code)) : "code \(code)"
  }
}
