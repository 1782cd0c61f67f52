import Glibc

/// A certificate and its key as C strings, for as long as libmicrohttpd may look at them.
final class ServedIdentity {
  private let certificateBuffer: UnsafeMutableBufferPointer<CChar>
  private let keyBuffer: UnsafeMutableBufferPointer<CChar>

  var certificates: UnsafePointer<CChar>? { UnsafePointer(certificateBuffer.baseAddress) }
  var privateKey: UnsafePointer<CChar>? { UnsafePointer(keyBuffer.baseAddress) }

  init(_ identity: HTTPServerIdentity) {
    certificateBuffer = Self.copy(identity.certificates)
    keyBuffer = Self.copy(identity.privateKey)
  }

  deinit {
    for buffer in [certificateBuffer, keyBuffer] {
      if let start = buffer.baseAddress { explicit_bzero(start, buffer.count) }
      buffer.deallocate()
    }
  }

  private static func copy(_ text: String) -> UnsafeMutableBufferPointer<CChar> {
    let bytes = text.utf8CString
    let buffer = UnsafeMutableBufferPointer<CChar>.allocate(capacity: bytes.count)
    _ = buffer.initialize(from: bytes)
    return buffer
  }
}
