/// The part of a Redis key that says where a Redis Cluster keeps it.
package enum HashTag {
  /// The part between the first `{` and the first `}` behind it; the whole key when there is
  /// nothing there (Redis Cluster specification, "Hash tags").
  package static func range(in key: UnsafeRawBufferPointer) -> Range<Int> {
    guard let open = key.firstIndex(of: UInt8(ascii: "{")),
      let close = key[(open + 1)...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
    else { return 0..<key.count }
    return (open + 1)..<close
  }
}
