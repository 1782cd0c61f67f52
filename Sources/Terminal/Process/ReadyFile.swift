import Glibc
import Threads

/// A file that is there as long as something is true, for probes and scripts. A file that an
/// earlier process left behind when it was killed goes at once. Called from any thread.
package final class ReadyFile: Sendable {
  private let path: String
  private struct State {
    var hasEnded = false
    var isReady = false
    /// Nobody has looked at the beginning.
    var isHealthy = false
  }

  private let state = ThreadLock(State())

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

  /// The error, or nil. Nothing after `end`, and not before it is healthy.
  package func appear() -> String? {
    state.withLock { state in
      state.isReady = true
      return show(state)
    }
  }

  package func disappear() {
    state.withLock { state in
      state.isReady = false
      _ = show(state)
    }
  }

  /// It goes while something is wrong, and comes back when that is over. Returns the error of the
  /// file, or nil.
  package func keep(isHealthy: Bool) -> String? {
    state.withLock { state in
      guard state.isHealthy != isHealthy else { return nil }
      state.isHealthy = isHealthy
      return show(state)
    }
  }

  private func show(_ state: State) -> String? {
    guard !state.hasEnded else { return nil }
    guard state.isReady, state.isHealthy else {
      unlink(path)
      return nil
    }
    let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o644)
    guard descriptor >= 0 else { return "\(path): \(String(cString: strerror(errno)))" }
    close(descriptor)
    return nil
  }

  /// It goes and does not come back.
  package func end() {
    state.withLock { state in
      if !state.hasEnded { unlink(path) }
      state.hasEnded = true
    }
  }
}
