import COpenSSL

/// OpenSSL, set up so that the process may end at any time.
enum OpenSSLStart {
  /// Before anything else of OpenSSL's: by default it frees all it has when the process exits,
  /// under the hands of threads that still encrypt.
  static func once() { _ = isDone }

  private static let isDone = OPENSSL_init_ssl(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}

package enum TLSVersion {
  /// The OpenSSL that is loaded at run time: `3.0.17`.
  package static var string: String {
    OpenSSL_version(OPENSSL_VERSION_STRING).map { String(cString: $0) } ?? "unknown"
  }
}
