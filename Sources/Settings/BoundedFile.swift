import Glibc

/// A small file, read whole, its size looked at before a byte is read.
package struct BoundedFile: Sendable {
  package let bytes: [UInt8]
  /// Permission bits.
  package let mode: UInt32

  package var text: String { String(decoding: bytes, as: UTF8.self) }
  /// More than its owner and those of its group may do more than read it.
  var isExposed: Bool { mode & 0o027 != 0 }
  /// Anybody on the machine may read it.
  var isWorldReadable: Bool { mode & 0o004 != 0 }

  /// Anybody on the machine may put something else into it.
  var isWorldWritable: Bool { mode & 0o002 != 0 }

  /// Regular files only: a pipe could block for ever. Follows symbolic links, as Kubernetes mounts
  /// them.
  package static func read(_ path: String, maximumBytes: Int) throws(SettingComplaint)
    -> BoundedFile
  {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw failure("cannot be opened", path) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure("cannot be read", path) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw SettingComplaint("\(Shown.path(path)) is not a regular file")
    }
    guard status.st_size <= maximumBytes else {
      throw SettingComplaint(
        "\(Shown.path(path)) is \(status.st_size) bytes long, at most \(maximumBytes) are read")
    }
    guard let bytes = bytes(of: descriptor, atMost: maximumBytes) else {
      throw failure("cannot be read", path)
    }
    guard bytes.count <= maximumBytes else {
      throw SettingComplaint("\(Shown.path(path)) has more than \(maximumBytes) bytes")
    }
    return BoundedFile(bytes: bytes, mode: status.st_mode & 0o7777)
  }

  package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Reads to the end, or one byte more than allowed, to notice that there is more. Nil: it cannot
  /// be read, and `errno` says why.
  package static func bytes(of descriptor: Int32, atMost maximumBytes: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: maximumBytes + 1)
    var count = 0
    while count < bytes.count {
      let got = bytes.withUnsafeMutableBytes {
        Glibc.read(descriptor, $0.baseAddress.map { $0 + count }, $0.count - count)
      }
      if got < 0 && errno == EINTR { continue }
      guard got >= 0 else { return nil }
      if got == 0 { break }
      count += got
    }
    return Array(bytes[..<count])
  }

  /// Of a file that says who we are, or who may ask us: what anybody may write is not used.
  package static func readSecret(_ path: String, maximumBytes: Int) throws(SettingComplaint)
    -> BoundedFile
  {
    let file = try read(path, maximumBytes: maximumBytes)
    guard !file.isWorldWritable else {
      throw SettingComplaint(
        "\(Shown.path(path)) can be written by every user of this machine", hint: modeHint)
    }
    return file
  }

  static let modeHint = "chmod 0440, or defaultMode: 0440 in Kubernetes"

  private static func failure(_ what: String, _ path: String) -> SettingComplaint {
    let reason = String(cString: strerror(errno))
    return SettingComplaint("\(Shown.path(path)) \(what): \(reason)")
  }
}

extension Shown {
  package static func path(_ path: String) -> String {
    String(
      String.UnicodeScalarView(
        path.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }))
  }
}
