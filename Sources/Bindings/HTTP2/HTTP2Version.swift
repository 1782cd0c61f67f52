import CNghttp2

package enum HTTP2Version {
  /// The nghttp2 that is loaded at run time: `1.52.0`.
  package static var string: String {
    nghttp2_version(0).flatMap { $0.pointee.version_str }.map { String(cString: $0) } ?? "unknown"
  }
}
