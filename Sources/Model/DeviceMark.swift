/// A short name of a device among its user's, which says nothing of its token.
package enum DeviceMark {
  /// 0 for no device; of a device something else. FNV-1a of its member.
  package static func of(_ member: UnsafeRawBufferPointer) -> UInt32 {
    guard !member.isEmpty else { return 0 }
    var mark: UInt32 = 0x811C_9DC5
    for byte in member { mark = (mark ^ UInt32(byte)) &* 0x0100_0193 }
    return mark == 0 ? 1 : mark
  }

  package static func of(_ member: String) -> UInt32 {
    var member = member
    return member.withUTF8 { of(UnsafeRawBufferPointer($0)) }
  }
}
