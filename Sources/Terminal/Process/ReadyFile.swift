import Glibc
import Threads

/// A file that is there as long as something is true, for probes and scripts. What an earlier
/// process left behind when it was killed goes at once. Called from any thread.
package final class ReadyFile: Sendable {
  private let path: String
  private let hasEnded = ThreadLock(false)

  package init(_ path: String) {
    self.path = path
    unlink(path)
  }

  /// Why the file could not appear, or nil, without letting it: whoever waits for it would take it
  /// for the sign.
  package func check() -> String? {
    var status = stat()
    if lstat(path, &status) == 0 { return "\(path): something is there that cannot be removed" }
    let probe = "\(path).\(getpid())"
    let descriptor = open(probe, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o644)
    guard descriptor >= 0 else { return "\(path): \(String(cString: strerror(errno)))" }
    close(descriptor)
    unlink(probe)
    return nil
  }

  /// What went wrong, or nil. Nothing after `end`.
  package func appear() -> String? {
    hasEnded.withLock { hasEnded in
      if hasEnded { return nil }
      let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o644)
      guard descriptor >= 0 else { return "\(path): \(String(cString: strerror(errno)))" }
      close(descriptor)
      return nil
    }
  }

  package func disappear() { hasEnded.withLock { if !$0 { unlink(path) } } }

  /// It goes and does not come back.
  package func end() {
    hasEnded.withLock { hasEnded in
      if !hasEnded { unlink(path) }
      hasEnded = true
    }
  }
}
