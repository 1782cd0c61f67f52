import COpenSSL

package enum TLSVersion {
  /// The OpenSSL that is loaded at run time: `3.0.17`.
  package static var string: String {
    OpenSSL_version(OPENSSL_VERSION_STRING).map { String(cString: $0) } ?? "unknown"
  }
}
