import Glibc

/// Files of an earlier run that may stay, so that a client that has read them survives a restart of
/// the simulator. A file that somebody else has put there may hold a key that somebody else knows,
/// and a secret that others could read is none any more: neither is kept.
package enum KeptFiles {
  /// The certificates are made for 30 days.
  private static let oldestSeconds = 20 * 24 * 3600

  /// Whether a certificate, or a key of one, lasts for some more days.
  package static func isYoung(_ path: String, isSecret: Bool) -> Bool {
    var information = stat()
    guard lstat(path, &information) == 0, information.st_size > 0, isOurs(information, isSecret)
    else { return false }
    return time(nil) - information.st_mtim.tv_sec < oldestSeconds
  }

  /// At most 64 KiB of it; nil where it must not be kept.
  package static func read(_ path: String, isSecret: Bool) -> String? {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var information = stat()
    guard fstat(descriptor, &information) == 0, isOurs(information, isSecret) else { return nil }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes[0..<count], as: UTF8.self) : nil
  }

  private static func isOurs(_ information: stat, _ isSecret: Bool) -> Bool {
    information.st_mode & S_IFMT == S_IFREG && information.st_uid == geteuid()
      && (!isSecret || information.st_mode & 0o077 == 0)
  }
}
