/// Which keys Redis Cluster keeps in one slot: a script may have no others.
extension Keyspace {
  /// What Redis Cluster goes by: what stands between the first `{` and the next `}`, and the whole
  /// key when that is nothing.
  package static func hashTag(of key: String) -> Substring {
    guard let open = key.utf8.firstIndex(of: 0x7B) else { return key[...] }
    let start = key.utf8.index(after: open)
    guard let end = key.utf8[start...].firstIndex(of: 0x7D), end > start else { return key[...] }
    return key[start..<end]
  }

  package static func haveOneHashTag(_ keys: [String]) -> Bool {
    Set(keys.map { hashTag(of: $0) }).count <= 1
  }
}
