import Glibc
import Terminal
import Threads

/// A directory of a run's own, readable by its owner only: under `TMPDIR`, and removed with all
/// that is in it when the object goes, unless it was kept; or one that stays.
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

  /// A directory that stays, made if it is not there. Its path is absolute afterwards.
  package init(staying path: String) throws(LocalRunError) {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw Self.cannotWrite(path) }
    self.path = Executable.absolute(path)
    keep()
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

  /// As `write`, for a file that its owner alone may read from the first byte on.
  package func writeSecret(_ text: String, to name: String) throws(LocalRunError) {
    let path = file(name)
    // A file that is there keeps its mode.
    unlink(path)
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Self.cannotWrite(path) }
    close(descriptor)
    try write(text, to: name)
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

  /// The names in a directory, in order; empty where there is none.
  package static func names(in path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// Removes a file, or a directory with all that is in it. Links are removed, not followed.
  package static func removeTree(_ path: String) {
    guard unlink(path) != 0, errno == EISDIR || errno == EPERM else { return }
    for name in names(in: path) { removeTree("\(path)/\(name)") }
    rmdir(path)
  }

  private static func cannotWrite(_ path: String) -> LocalRunError {
    LocalRunError(.failed, "\(path) cannot be written: \(String(cString: strerror(errno)))")
  }
}
