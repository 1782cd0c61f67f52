import CNghttp2

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
