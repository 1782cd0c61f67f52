import CNghttp2

/// A header block that is written once and sent many times. Names and the values given at creation
/// are copied into storage of its own, which must outlive the requests that are not written yet; a
/// value given by `set` is borrowed too. Or, as `values` says, nghttp2 copies it all.
package final class HTTP2FieldBlock {
  package enum Values: Sendable {
    /// The bytes given to `set` must stay where they are until `nextOutput()` has produced the
    /// HEADERS frame of every request submitted with them. Clients use it; it makes no copy.
    case borrowed
    /// nghttp2 copies everything when the block is submitted; nothing needs to live longer.
    case copied
  }

  /// HPACK strings longer than this are never what a sender of pushes means (APNs takes 4 KiB of
  /// payload).
  package static let maximumValueBytes = 16_384

  let native: UnsafeMutablePointer<nghttp2_nv>
  package let count: Int
  private let storage: UnsafeMutablePointer<UInt8>
  private let kinds: UnsafeMutablePointer<FieldKind>

  /// - Throws: `.invalidHeader` for names that are not lower-case tokens and values with
  ///   forbidden bytes.
  package init(
    _ fields: [(name: String, value: String, indexing: HTTP2Indexing)], values: Values = .borrowed
  ) throws(HTTP2Error) {
    for field in fields {
      try HTTP2FieldBlock.check(name: field.name, value: field.value)
    }
    count = fields.count
    native = .allocate(capacity: max(fields.count, 1))
    kinds = .allocate(capacity: max(fields.count, 1))
    let bytes = fields.reduce(1) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    storage = .allocate(capacity: bytes)
    var next = storage
    for (index, field) in fields.enumerated() {
      let name = next
      next = HTTP2FieldBlock.copy(field.name, to: next)
      let value = next
      next = HTTP2FieldBlock.copy(field.value, to: next)
      var flags = NGHTTP2_NV_FLAG_NONE.rawValue
      if values == .borrowed {
        flags = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
      }
      if field.indexing == .never { flags |= NGHTTP2_NV_FLAG_NO_INDEX.rawValue }
      (native + index).initialize(
        to: nghttp2_nv(
          name: name, value: value, namelen: field.name.utf8.count,
          valuelen: field.value.utf8.count, flags: UInt8(flags)))
      (kinds + index).initialize(to: FieldKind(name: field.name))
    }
  }

  deinit {
    native.deallocate()
    storage.deallocate()
    kinds.deallocate()
  }

  /// Gives field `index` another value for the requests submitted from now on.
  /// - Returns: false, and the field keeps the value it had, when the value holds CR, LF, NUL or
  ///   another byte that HTTP/2 forbids there, or is too long.
  package func set(_ index: Int, _ value: UnsafeRawBufferPointer) -> Bool {
    precondition(index >= 0 && index < count, "no such field in the block")
    guard value.count <= HTTP2FieldBlock.maximumValueBytes,
      kinds[index].accepts(value)
    else { return false }
    let field = native + index
    if let base = value.baseAddress {
      field.pointee.value = UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: UInt8.self))
    } else {
      field.pointee.value = storage
    }
    field.pointee.valuelen = value.count
    return true
  }

  /// Hands each field to `body`, in the order of the wire. The bytes are good during its call only.
  package func withEach(
    _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void
  ) {
    for index in 0..<count {
      let field = native[index]
      body(
        UnsafeRawBufferPointer(start: field.name, count: field.namelen),
        UnsafeRawBufferPointer(start: field.value, count: field.valuelen))
    }
  }

  private static func copy(
    _ text: String, to target: UnsafeMutablePointer<UInt8>
  ) -> UnsafeMutablePointer<UInt8> {
    var next = target
    for byte in text.utf8 {
      next.pointee = byte
      next += 1
    }
    return next
  }

  private static func check(name: String, value: String) throws(HTTP2Error) {
    let nameBytes = Array(name.utf8)
    guard nghttp2_check_header_name(nameBytes, nameBytes.count) != 0 else {
      throw HTTP2Error(.invalidHeader, "\(name.debugDescription) is not a lower-case field name")
    }
    let kind = FieldKind(name: name)
    let accepted = Array(value.utf8).withUnsafeBytes { bytes in
      // A field whose value comes later, by `set`, starts empty.
      bytes.isEmpty || (bytes.count <= maximumValueBytes && kind.accepts(bytes))
    }
    guard accepted else {
      throw HTTP2Error(
        .invalidHeader, "the value of \(name) holds a byte that HTTP/2 forbids, or is too long")
    }
  }
}

/// Pseudo-header fields have narrower alphabets than others.
private enum FieldKind {
  case path, authority, method, other

  init(name: String) {
    switch name {
    case ":path": self = .path
    case ":authority": self = .authority
    case ":method": self = .method
    default: self = .other
    }
  }

  func accepts(_ value: UnsafeRawBufferPointer) -> Bool {
    guard let base = value.baseAddress?.assumingMemoryBound(to: UInt8.self), !value.isEmpty else {
      return self == .other
    }
    switch self {
    case .path: return nghttp2_check_path(base, value.count) != 0
    case .authority: return nghttp2_check_authority(base, value.count) != 0
    case .method: return nghttp2_check_method(base, value.count) != 0
    case .other: return nghttp2_check_header_value_rfc9113(base, value.count) != 0
    }
  }
}

/// How HPACK may represent a field (RFC 7541, section 6.2).
package enum HTTP2Indexing: Sendable {
  /// Worth a place in the dynamic table: the value repeats.
  case indexed
  /// Literal and never indexed: a secret, or a value that is different in each request.
  case never
}
