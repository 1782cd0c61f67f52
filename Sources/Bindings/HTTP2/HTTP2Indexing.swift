import CNghttp2

/// How HPACK may represent a field (RFC 7541, section 6.2).
package enum HTTP2Indexing: Sendable {
  /// Worth a place in the dynamic table: the value repeats.
  case indexed
  /// Literal and never indexed: a secret, or a value that is different in each request.
  case never
}
