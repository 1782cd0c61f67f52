import Text

/// Which keys Redis Cluster keeps in one slot: a script may have no others.
extension Keyspace {
  static func hashTag(of key: String) -> Substring {
    var key = key
    let tag = key.withUTF8 { HashTag.range(in: UnsafeRawBufferPointer($0)) }
    let start = key.utf8.index(key.startIndex, offsetBy: tag.lowerBound)
    return key[start..<key.utf8.index(start, offsetBy: tag.count)]
  }

  package static func haveOneHashTag(_ keys: [String]) -> Bool {
    Set(keys.map { hashTag(of: $0) }).count <= 1
  }
}
