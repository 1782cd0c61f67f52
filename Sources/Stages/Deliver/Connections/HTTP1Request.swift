import HTTP2

/// Requests as HTTP/1.1 has them on the wire (RFC 9112, section 3), made of what a `RequestWriter`
/// gives for HTTP/2. No value can end its line: `HTTP2FieldBlock` takes none that holds CR, LF or
/// NUL, and no path or authority with a space.
package enum HTTP1Request {
  /// Writes a request behind what is in `target`.
  package static func write(
    _ fields: HTTP2FieldBlock, body: UnsafeRawBufferPointer, to target: inout [UInt8]
  ) {
    var method: [UInt8] = []
    var path: [UInt8] = []
    var authority: [UInt8] = []
    fields.withEach { name, value in
      switch String(decoding: name, as: UTF8.self) {
      case ":method": method = Array(value)
      case ":path": path = Array(value)
      case ":authority": authority = Array(value)
      default: break
      }
    }
    target += method + Array(" ".utf8) + path + Array(" HTTP/1.1\r\nhost: ".utf8) + authority
    target += Array("\r\n".utf8)
    fields.withEach { name, value in
      guard name.first != UInt8(ascii: ":") else { return }
      target += name
      target += Array(": ".utf8)
      target += value
      target += Array("\r\n".utf8)
    }
    target += Array("content-length: \(body.count)\r\n\r\n".utf8)
    target += body
  }
}
