import Glibc

/// A directory of a test's own, removed with all that is in it when the object goes.
package final class TemporaryDirectory: Sendable {
  package let path: String

  package init() throws {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/fanfare-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw TestSupportError("no directory under \(parent): errno \(errno)")
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { Self.remove(path) }

  package func file(_ name: String) -> String { "\(path)/\(name)" }

  @discardableResult
  package func write(_ text: String, to name: String) throws -> String {
    let path = file(name)
    guard let handle = fopen(path, "w") else {
      throw TestSupportError("\(path) cannot be written: errno \(errno)")
    }
    defer { fclose(handle) }
    let bytes = Array(text.utf8)
    guard fwrite(bytes, 1, bytes.count, handle) == bytes.count else {
      throw TestSupportError("\(path) cannot be written: errno \(errno)")
    }
    return path
  }

  private static func remove(_ path: String) {
    if let directory = opendir(path) {
      while let entry = readdir(directory) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { remove("\(path)/\(name)", isLink: entry.pointee.d_type) }
      }
      closedir(directory)
    }
    rmdir(path)
  }

  private static func remove(_ path: String, isLink type: UInt8) {
    if type == UInt8(DT_DIR) { remove(path) } else { unlink(path) }
  }
}
