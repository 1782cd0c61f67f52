import COpenSSL

/// One TLS connection as bytes in, bytes out; it never sees a socket. Confined to the owner's
/// thread.
///
/// Call `receive` with what the socket gave and `send` with what shall go out; then write
/// `ciphertext` to the socket and `consume` what it took.
package final class TLSSession {
  let ssl: OpaquePointer
  private let expectedHost: String?
  private let requiresProtocol: Bool
  private let context: AnyObject
  fileprivate var input = UnsafeRawBufferPointer(start: nil, count: 0)
  fileprivate var output: UnsafeMutableRawPointer
  fileprivate var outputStart = 0
  fileprivate var outputEnd = 0
  fileprivate var outputCapacity = 32 * 1024
  private let plaintext = UnsafeMutableRawBufferPointer.allocate(
    byteCount: TLSSession.recordBytes, alignment: 16)
  private let messages = UnsafeMutablePointer<Int>.allocate(capacity: 1)
  package private(set) var isEstablished = false
  /// Messages of TLS' own that have come: those of the handshake, then tickets and changes of keys.
  /// None of them is plaintext, and each change may ask for an answer.
  package var messageCount: Int { messages.pointee }

  /// RFC 8446, section 5.1: the most plaintext one record carries.
  package static let recordBytes = 16 * 1024

  /// A client's side; the handshake starts with the first call of `handshake`.
  /// `host`: the name (or address) that the certificate must be for.
  /// `protocols`: offered instead of the context's. The server must choose one of those that are
  /// offered, unless HTTP/1.1 is among them: a server that knows nothing of ALPN speaks that.
  package convenience init(
    client context: TLSClientContext, host: String, protocols: [String]? = nil
  ) throws(TLSError) {
    let offered = protocols ?? context.applicationProtocols
    try self.init(
      context.handle, of: context, host: host,
      requiresProtocol: !offered.isEmpty && !offered.contains("http/1.1"))
    SSL_set_connect_state(ssl)
    if let protocols {
      let wire = wireFormat(protocols)
      guard SSL_set_alpn_protos(ssl, wire, UInt32(wire.count)) == 0 else {
        throw TLSError(.internalFailure, "OpenSSL refuses the protocols \(protocols)")
      }
    }
    let parameters = SSL_get0_param(ssl)
    if X509_VERIFY_PARAM_set1_ip_asc(parameters, host) != 1 {
      ERR_clear_error()
      // RFC 9525: the names of a certificate are its alternative names. OpenSSL takes the common
      // name where there are none, unless told not to.
      SSL_set_hostflags(
        ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
      guard SSL_set1_host(ssl, host) == 1, ossl_set_server_name(ssl, host) == 1 else {
        throw TLSError(.hostMismatch, "\(host) cannot be a certificate's host name")
      }
    }
  }

  package convenience init(server context: TLSServerContext) throws(TLSError) {
    try self.init(context.handle, of: context, host: nil, requiresProtocol: false)
    SSL_set_accept_state(ssl)
  }

  private init(
    _ handle: OpaquePointer, of context: AnyObject, host: String?, requiresProtocol: Bool
  ) throws(TLSError) {
    ERR_clear_error()
    guard let ssl = SSL_new(handle) else {
      throw TLSError(.internalFailure, "OpenSSL gave no session")
    }
    self.ssl = ssl
    self.context = context
    expectedHost = host
    self.requiresProtocol = requiresProtocol
    output = .allocate(byteCount: outputCapacity, alignment: 16)
    messages.initialize(to: 0)
    ossl_count_messages(ssl, messages)
    attachBIO()
  }

  deinit {
    SSL_free(ssl)  // frees the BIO too
    output.deallocate()
    plaintext.deallocate()
    messages.deallocate()
  }

  private func attachBIO() {
    guard let method = SessionBIO.method, let bio = BIO_new(method) else { return }
    // The BIO lives no longer than this object, whose deinit frees it with the session.
    BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
    BIO_set_init(bio, 1)
    SSL_set_bio(ssl, bio, bio)
  }

  /// Ciphertext that waits for the socket; good until the next call of any method.
  package var ciphertext: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: output + outputStart, count: outputEnd - outputStart)
  }

  package func consume(_ count: Int) {
    outputStart += min(count, outputEnd - outputStart)
    if outputStart == outputEnd {
      outputStart = 0
      outputEnd = 0
    }
  }

  /// Moves the handshake on as far as the bytes at hand allow.
  package func handshake() throws(TLSError) {
    guard !isEstablished else { return }
    ERR_clear_error()
    let result = SSL_do_handshake(ssl)
    if result == 1 {
      if requiresProtocol, applicationProtocol == nil {
        throw TLSError(.noProtocol, "the server did not agree to HTTP/2 (ALPN h2)", cause: nil)
      }
      isEstablished = true
      return
    }
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return
    default: throw handshakeError()
    }
  }

  /// Decrypts `bytes` and hands the plaintext to `body`, record by record, each good during its
  /// call only. Returns false when the peer has closed its side in order.
  package func receive(
    _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(TLSError) -> Bool {
    input = bytes
    defer { input = UnsafeRawBufferPointer(start: nil, count: 0) }
    if !isEstablished {
      try handshake()
      guard isEstablished else { return true }
    }
    while true {
      ERR_clear_error()
      let count = SSL_read(ssl, plaintext.baseAddress, Int32(plaintext.count))
      if count > 0 {
        body(UnsafeRawBufferPointer(rebasing: plaintext[0..<Int(count)]))
        continue
      }
      switch SSL_get_error(ssl, count) {
      case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return true
      case SSL_ERROR_ZERO_RETURN: return false
      // With TLS 1.3 the peer sees our certificate when the handshake is over for us.
      default:
        throw TLSError(refusalOfOurs: ERR_peek_error())
          ?? TLSError(.protocolViolation, "the peer sent what is not TLS, or an alert")
      }
    }
  }

  /// Encrypts all of `bytes`, in records as large as TLS allows, into `ciphertext`.
  package func send(_ bytes: UnsafeRawBufferPointer) throws(TLSError) {
    var rest = bytes
    while !rest.isEmpty {
      ERR_clear_error()
      let count = SSL_write(ssl, rest.baseAddress, Int32(min(rest.count, Self.recordBytes)))
      guard count > 0 else { throw TLSError(.closed, "TLS takes no more bytes on this connection") }
      rest = UnsafeRawBufferPointer(rebasing: rest[Int(count)...])
    }
  }

  /// Changes our keys, and asks the peer to change its own; the bytes are in `ciphertext`.
  func updateKeys() throws(TLSError) {
    ERR_clear_error()
    guard SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) == 1, SSL_do_handshake(ssl) == 1 else {
      throw TLSError(.closed, "the keys of this connection cannot be changed")
    }
  }

  /// Says good-bye (close_notify); the bytes are in `ciphertext`.
  package func finish() {
    guard isEstablished else { return }
    ERR_clear_error()
    _ = SSL_shutdown(ssl)
    ERR_clear_error()
  }

  /// Of a server's side: what the client has shown, once the handshake is over.
  package var peer: PeerCertificate? {
    guard let certificate = SSL_get1_peer_certificate(ssl) else { return nil }
    defer { X509_free(certificate) }
    return PeerCertificate(
      contents: CertificateContents(certificate),
      isInOrder: SSL_get_verify_result(ssl) == X509_V_OK)
  }

  /// The one that the server has chosen (ALPN); nil before that, and when it has chosen none.
  package var applicationProtocol: String? {
    var name: UnsafePointer<UInt8>?
    var count: UInt32 = 0
    SSL_get0_alpn_selected(ssl, &name, &count)
    guard let name, count > 0 else { return nil }
    return String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
  }

  private func handshakeError() -> TLSError {
    let verdict = SSL_get_verify_result(ssl)
    guard verdict != X509_V_OK else { return TLSError(handshake: ERR_peek_error()) }
    ERR_clear_error()
    return TLSError(verdict: verdict, host: expectedHost)
  }

  fileprivate func appendOutput(_ bytes: UnsafeRawBufferPointer) {
    if outputEnd + bytes.count > outputCapacity {
      let used = outputEnd - outputStart
      let capacity = max(outputCapacity, (used + bytes.count) * 2)
      let grown = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
      grown.copyMemory(from: output + outputStart, byteCount: used)
      output.deallocate()
      output = grown
      outputCapacity = capacity
      outputStart = 0
      outputEnd = used
    }
    if let base = bytes.baseAddress {
      (output + outputEnd).copyMemory(from: base, byteCount: bytes.count)
    }
    outputEnd += bytes.count
  }

  fileprivate func takeInput(_ target: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(target.count, input.count)
    guard count > 0 else { return 0 }
    target.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[0..<count]))
    input = UnsafeRawBufferPointer(rebasing: input[count...])
    return count
  }
}

/// OpenSSL's view of a session's buffers: a BIO whose reads and writes are the two calls above.
private enum SessionBIO {
  /// Made once for the process and never freed. Nil only when OpenSSL is out of memory at start.
  nonisolated(unsafe) static let method: OpaquePointer? = {
    guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "fanfare")
    else { return nil }
    BIO_meth_set_write(method, bioWrite)
    BIO_meth_set_read(method, bioRead)
    BIO_meth_set_ctrl(method, bioControl)
    return method
  }()
}

private func session(_ bio: OpaquePointer?) -> TLSSession? {
  guard let bio, let data = BIO_get_data(bio) else { return nil }
  return Unmanaged<TLSSession>.fromOpaque(data).takeUnretainedValue()
}

private func bioWrite(
  _ bio: OpaquePointer?, _ bytes: UnsafePointer<CChar>?, _ count: Int32
) -> Int32 {
  guard let session = session(bio), count >= 0 else { return -1 }
  ossl_bio_clear_retry(bio)
  session.appendOutput(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
  return count
}

private func bioRead(
  _ bio: OpaquePointer?, _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int32
) -> Int32 {
  guard let session = session(bio), count >= 0 else { return -1 }
  ossl_bio_clear_retry(bio)
  let taken = session.takeInput(UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)))
  guard taken > 0 else {
    ossl_bio_set_retry_read(bio)
    return -1
  }
  return Int32(taken)
}

private func bioControl(
  _ bio: OpaquePointer?, _ command: Int32, _ number: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int {
  command == BIO_CTRL_FLUSH ? 1 : 0
}

/// A client's certificate as a server sees it.
package struct PeerCertificate: Sendable {
  package let contents: CertificateContents
  /// Signed by an authority that is known, and not over.
  package let isInOrder: Bool

  package init(contents: CertificateContents, isInOrder: Bool) {
    self.contents = contents
    self.isInOrder = isInOrder
  }
}
