import Glibc
import Settings
import Terminal

/// A small file that the command line names.
package enum CommandFile {
  package static func read(
    _ path: String, maximumBytes: Int
  ) throws(CommandFailure) -> BoundedFile {
    do {
      return try BoundedFile.read(path, maximumBytes: maximumBytes)
    } catch {
      throw CommandFailure(.failed, error.message)
    }
  }

  /// A text that may also come through a pipe: `-` is standard input. Waits until the writer ends,
  /// as other tools do.
  package static func text(_ path: String, maximumBytes: Int) throws(CommandFailure) -> String {
    let bytes = try piped(path, maximumBytes)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw CommandFailure(.failed, "\(name(path)) is not UTF-8")
    }
    return text
  }

  /// Puts a text into the place of a file, as a whole or not at all.
  package static func replace(_ path: String, with text: String) throws(CommandFailure) {
    let fresh = "\(path).\(getpid()).new"
    // As permissive as the shell of who runs the command says.
    let descriptor = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o666)
    guard descriptor >= 0 else { throw failure("cannot be written", path) }
    let error = Array(text.utf8).withUnsafeBytes { TerminalDevice.write($0, to: descriptor) }
    close(descriptor)
    guard error == 0, rename(fresh, path) == 0 else {
      if error != 0 { errno = error }
      defer { unlink(fresh) }
      throw failure("cannot be written", path)
    }
  }

  private static func name(_ path: String) -> String {
    path == "-" ? "standard input" : Shown.path(path)
  }

  private static func piped(_ path: String, _ maximumBytes: Int) throws(CommandFailure) -> [UInt8] {
    let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("cannot be opened", path) }
    defer { if path != "-" { close(descriptor) } }
    guard let bytes = BoundedFile.bytes(of: descriptor, atMost: maximumBytes) else {
      throw failure("cannot be read", path)
    }
    guard bytes.count <= maximumBytes else {
      throw CommandFailure(.failed, "\(name(path)) has more than \(maximumBytes) bytes")
    }
    return bytes
  }

  private static func failure(_ what: String, _ path: String) -> CommandFailure {
    let why = String(cString: strerror(errno))
    // As curl takes them.
    let isNoName = path.hasPrefix("{") || path.hasPrefix("@")
    let hint = isNoName ? "; name a file, or - for standard input" : ""
    return CommandFailure(.failed, "\(name(path)) \(what): \(why)\(hint)")
  }
}
