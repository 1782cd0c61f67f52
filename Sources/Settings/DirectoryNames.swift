import Glibc

/// What lies in a directory.
package enum DirectoryNames {
  package struct Unreadable: Error {
    /// In the system's words.
    package let reason: String
  }

  /// In no order; stops behind `maximum` and one more, so that too many are noticed.
  package static func read(
    _ directory: String, upTo maximum: Int = .max, where isWanted: (String) -> Bool
  ) throws(Unreadable) -> [String] {
    guard let stream = opendir(directory) else {
      throw Unreadable(reason: String(cString: strerror(errno)))
    }
    defer { closedir(stream) }
    var names: [String] = []
    while names.count <= maximum, let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if isWanted(name) { names.append(name) }
    }
    return names
  }
}
