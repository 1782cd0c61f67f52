import Glibc
import Terminal
import Threads

/// A directory of a run's own under `TMPDIR`, readable by its owner only; removed with all that is
/// in it when the object goes, unless it was kept.
package final class ScratchDirectory: Sendable {
  package let path: String
  private let isKept = ThreadLock(false)

  package init(_ name: String = "fanfare-test") throws(LocalRunError) {
    let given = TerminalDevice.environment("TMPDIR") ?? ""
    let parent = given.isEmpty ? "/tmp" : given
    var template = Array("\(parent)/\(name)-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw LocalRunError(
        .failed,
        "no directory can be made in \(parent): \(String(cString: strerror(errno))); "
          + "name another one with TMPDIR")
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { if !isKept.withLock({ $0 }) { Self.removeTree(path) } }

  /// Leaves it there for good.
  package func keep() { isKept.withLock { $0 = true } }

  package func file(_ name: String) -> String { "\(path)/\(name)" }

  package func makeDirectory(_ name: String) throws(LocalRunError) -> String {
    let path = file(name)
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw Self.cannotWrite(path) }
    return path
  }

  @discardableResult
  package func write(_ text: String, to name: String) throws(LocalRunError) -> String {
    try write(to: name) { $0(text) }
  }

  /// For text that is longer than one likes to hold: `body` is lent a function that takes it piece
  /// by piece.
  @discardableResult
  package func write(
    to name: String, _ body: ((String) -> Void) -> Void
  ) throws(LocalRunError) -> String {
    let path = file(name)
    guard let handle = fopen(path, "w") else { throw Self.cannotWrite(path) }
    var isWritten = true
    body { text in
      var text = text
      let count = text.withUTF8 { fwrite($0.baseAddress, 1, $0.count, handle) }
      if count != text.utf8.count { isWritten = false }
    }
    guard fclose(handle) == 0, isWritten else { throw Self.cannotWrite(path) }
    return path
  }

  package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  package static func removeFile(_ path: String) { unlink(path) }

  /// The first bytes of a file; nil when there is none.
  package static func read(_ path: String, maximumBytes: Int = 64 << 10) -> String? {
    guard let handle = fopen(path, "r") else { return nil }
    defer { fclose(handle) }
    var bytes = [UInt8](repeating: 0, count: maximumBytes)
    let count = fread(&bytes, 1, bytes.count, handle)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  /// The last lines of a log.
  package static func lastLines(_ count: Int, of path: String) -> [String] {
    guard let handle = fopen(path, "r") else { return [] }
    defer { fclose(handle) }
    fseek(handle, 0, SEEK_END)
    fseek(handle, max(0, ftell(handle) - (16 << 10)), SEEK_SET)
    var bytes = [UInt8](repeating: 0, count: 16 << 10)
    let read = fread(&bytes, 1, bytes.count, handle)
    let lines = String(decoding: bytes[..<read], as: UTF8.self).split(separator: "\n")
    return lines.suffix(count).map(String.init)
  }

  /// Links are removed, not followed.
  private static func removeTree(_ path: String) {
    if let directory = opendir(path) {
      while let entry = readdir(directory) {
        let type = entry.pointee.d_type
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name == "." || name == ".." { continue }
        if type == UInt8(DT_DIR) {
          removeTree("\(path)/\(name)")
        } else {
          unlink("\(path)/\(name)")
        }
      }
      closedir(directory)
    }
    rmdir(path)
  }

  private static func cannotWrite(_ path: String) -> LocalRunError {
    LocalRunError(.failed, "\(path) cannot be written: \(String(cString: strerror(errno)))")
  }
}
