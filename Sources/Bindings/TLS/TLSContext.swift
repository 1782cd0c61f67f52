import COpenSSL

/// Shared by client connections: the trusted authorities and the protocols offered. TLS 1.2 or
/// newer, the peer's certificate and host name always verified: there is no switch to turn that
/// off.
///
/// Unchecked: an SSL_CTX is read only once it is set up, and OpenSSL counts its references
/// atomically.
package final class TLSClientContext: @unchecked Sendable {
  let handle: OpaquePointer
  package let applicationProtocols: [String]

  /// `caFile`: PEM with the authorities to trust instead of the system's.
  /// `alpn`: protocols offered; `TLSSession` says when the server must choose one of them.
  /// `certificate`: what the server is shown when it asks who we are.
  package init(
    caFile: String?, alpn: [String], certificate: ClientCertificate? = nil
  ) throws(TLSError) {
    OpenSSLStart.once()
    ERR_clear_error()
    guard let handle = SSL_CTX_new(TLS_client_method()) else {
      throw TLSError(.internalFailure, "OpenSSL gave no client context")
    }
    self.handle = handle
    applicationProtocols = alpn
    try setSharedOptions(handle)
    SSL_CTX_set_verify(handle, SSL_VERIFY_PEER, nil)
    if let caFile {
      guard SSL_CTX_load_verify_locations(handle, caFile, nil) == 1 else {
        throw TLSError(.badAuthority, "no certificate authority could be read from \(caFile)")
      }
    } else if SSL_CTX_set_default_verify_paths(handle) != 1 {
      throw TLSError(.badAuthority, "the system's certificate authorities cannot be read")
    }
    if let certificate {
      guard SSL_CTX_use_certificate(handle, certificate.certificate) == 1,
        SSL_CTX_use_PrivateKey(handle, certificate.key) == 1,
        certificate.chain.allSatisfy({ ossl_add_to_chain(handle, $0) == 1 })
      else { throw TLSError(.badCertificate, "OpenSSL refuses the client's certificate") }
    }
    let wire = wireFormat(alpn)
    if !wire.isEmpty, SSL_CTX_set_alpn_protos(handle, wire, UInt32(wire.count)) != 0 {
      throw TLSError(.internalFailure, "OpenSSL refuses the protocols \(alpn)")
    }
  }

  deinit { SSL_CTX_free(handle) }
}

/// Shared by a server's connections: its certificate chain, key and protocols.
///
/// Unchecked: as for the client; the protocols are written once, in `init`.
package final class TLSServerContext: @unchecked Sendable {
  let handle: OpaquePointer
  /// OpenSSL is handed addresses in these, which must be good after the call that names them.
  private let wire: UnsafeBufferPointer<UInt8>
  private let wireByHost: [String: UnsafeBufferPointer<UInt8>]

  /// `clientAuthorityFile`: clients are asked for a certificate, and may have none; PEM with who
  /// signs them. One that is not in order is let in too: `TLSSession.peer` says what is wrong.
  /// `alpnByHost`: the protocols for clients that name one of these hosts (SNI), in lower case.
  package convenience init(
    certificateFile: String, keyFile: String, alpn: [String],
    alpnByHost: [String: [String]] = [:], clientAuthorityFile: String? = nil
  ) throws(TLSError) {
    try self.init(alpn: alpn, alpnByHost: alpnByHost)
    guard SSL_CTX_use_certificate_chain_file(handle, certificateFile) == 1 else {
      throw TLSError(.badCertificate, "no certificate could be read from \(certificateFile)")
    }
    guard SSL_CTX_use_PrivateKey_file(handle, keyFile, SSL_FILETYPE_PEM) == 1,
      SSL_CTX_check_private_key(handle) == 1
    else { throw TLSError(.badKey, "\(keyFile) holds no key that fits \(certificateFile)") }
    if let clientAuthorityFile {
      guard SSL_CTX_load_verify_locations(handle, clientAuthorityFile, nil) == 1 else {
        throw TLSError(.badAuthority, "no authority could be read from \(clientAuthorityFile)")
      }
      SSL_CTX_set_verify(handle, SSL_VERIFY_PEER, takeAnyCertificate)
    }
  }

  /// - Parameter identity: what clients are shown: PEM with the certificate, its key and the chain.
  package convenience init(identity: String, alpn: [String]) throws(TLSError) {
    try self.init(alpn: alpn)
    let identity = try ClientCertificate(file: Array(identity.utf8), passphrase: nil)
    guard SSL_CTX_use_certificate(handle, identity.certificate) == 1,
      SSL_CTX_use_PrivateKey(handle, identity.key) == 1,
      identity.chain.allSatisfy({ ossl_add_to_chain(handle, $0) == 1 })
    else { throw TLSError(.badCertificate, "OpenSSL refuses the server's certificate") }
  }

  private init(alpn: [String], alpnByHost: [String: [String]] = [:]) throws(TLSError) {
    OpenSSLStart.once()
    ERR_clear_error()
    guard let handle = SSL_CTX_new(TLS_server_method()) else {
      throw TLSError(.internalFailure, "OpenSSL gave no server context")
    }
    self.handle = handle
    wire = stable(wireFormat(alpn))
    wireByHost = alpnByHost.mapValues { stable(wireFormat($0)) }
    try setSharedOptions(handle)
    if !alpn.isEmpty {
      // The context outlives every connection made from it, and the connections hold it.
      SSL_CTX_set_alpn_select_cb(handle, selectProtocol, Unmanaged.passUnretained(self).toOpaque())
    }
  }

  deinit {
    SSL_CTX_free(handle)
    wire.deallocate()
    for other in wireByHost.values { other.deallocate() }
  }

  fileprivate func wire(for host: String?) -> UnsafeBufferPointer<UInt8> {
    host.flatMap { wireByHost[$0.lowercased()] } ?? wire
  }
}

/// A copy that stays where it is until its owner deallocates it.
private func stable(_ bytes: [UInt8]) -> UnsafeBufferPointer<UInt8> {
  let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
  _ = copy.initialize(from: bytes)
  return UnsafeBufferPointer(copy)
}

/// The oldest that either side speaks. Kafka's TLS is librdkafka's.
private let oldestVersion = TLS1_2_VERSION

private func setSharedOptions(_ handle: OpaquePointer) throws(TLSError) {
  guard ossl_set_minimum_version(handle, oldestVersion) == 1 else {
    throw TLSError(.internalFailure, "OpenSSL refuses the oldest version of TLS that is spoken")
  }
  ossl_set_modes(handle)
  ossl_refuse_renegotiation(handle)
  ossl_session_cache_off(handle)
  ossl_read_ahead(handle)
  // The 128-bit suite first: as safe for this use, and less work per push.
  _ = SSL_CTX_set_ciphersuites(
    handle, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256")
  _ = SSL_CTX_set_cipher_list(
    handle,
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
      + "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305")
}

/// RFC 7301, section 3.1: each name behind its length.
func wireFormat(_ protocols: [String]) -> [UInt8] {
  protocols.flatMap { [UInt8(clamping: $0.utf8.count)] + Array($0.utf8.prefix(255)) }
}

/// The verdict stays what it is, and is asked for when the handshake is over.
private func takeAnyCertificate(_ isGood: Int32, _ store: OpaquePointer?) -> Int32 { 1 }

private func selectProtocol(
  _ ssl: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
  _ chosenLength: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?,
  _ offeredLength: UInt32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let chosen, let chosenLength, let offered, let context else {
    return SSL_TLSEXT_ERR_ALERT_FATAL
  }
  let server = Unmanaged<TLSServerContext>.fromOpaque(context).takeUnretainedValue()
  let host = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
  let wire = server.wire(for: host)
  var found: UnsafeMutablePointer<UInt8>?
  let result = SSL_select_next_proto(
    &found, chosenLength, wire.baseAddress, UInt32(wire.count), offered, offeredLength)
  guard result == OPENSSL_NPN_NEGOTIATED, let found else { return SSL_TLSEXT_ERR_ALERT_FATAL }
  // The found name lies in the client's list or in `wire`, alive until OpenSSL has copied it.
  chosen.pointee = UnsafePointer(found)
  return SSL_TLSEXT_ERR_OK
}
