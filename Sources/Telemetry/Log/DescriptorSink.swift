import Glibc
import Threads

/// Writes each line to a descriptor by one write(2). A descriptor that takes nothing now (a full
/// pipe, a stopped terminal), a full disk or a reader that went away cost the line, never time: a
/// lane must not wait for a log. Only its own write can fill what it has just seen to have room, so
/// lines are written one at a time.
package final class DescriptorSink: LogSink {
  private enum Kind {
    /// Pipes and terminals, by a description of our own that does not block: the one we were given
    /// is others' too, and its flags are theirs.
    case reopened(Int32)
    case socket
    /// Files; and what cannot be opened again, where poll(2) has to do.
    case plain
  }

  private let descriptor: Int32
  private let kind: Kind
  /// Whether the last line broke off in the middle: the next one starts a new line.
  private let isTorn = ThreadLock(false)

  /// Standard error. Ignores SIGPIPE from now on in the whole process: a log whose reader ends
  /// must not end it.
  package static func standardError() -> DescriptorSink {
    DescriptorSink(descriptor: STDERR_FILENO)
  }

  /// The descriptor stays the caller's to close.
  package init(descriptor: Int32) {
    self.descriptor = descriptor
    kind = Self.kind(of: descriptor)
    signal(SIGPIPE, SIG_IGN)
  }

  deinit { if case .reopened(let own) = kind { close(own) } }

  package func write(_ line: UnsafeRawBufferPointer) -> Bool {
    isTorn.withLock { isTorn in
      // A pipe that polls as writable has room for PIPE_BUF bytes, which is the longest line.
      var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      guard poll(&room, 1, 0) == 1, room.revents & Int16(POLLOUT) != 0 else { return false }
      if isTorn {
        let lineBreak: [UInt8] = [0x0A]
        guard lineBreak.withUnsafeBytes({ put($0) }) == 1 else { return false }
        isTorn = false
      }
      var written = put(line)
      while written < 0, errno == EINTR { written = put(line) }
      if written > 0, written < line.count { isTorn = true }
      return written == line.count
    }
  }

  private func put(_ bytes: UnsafeRawBufferPointer) -> Int {
    switch kind {
    case .reopened(let own): Glibc.write(own, bytes.baseAddress, bytes.count)
    case .socket:
      send(
        descriptor, bytes.baseAddress, bytes.count,
        Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
    case .plain: Glibc.write(descriptor, bytes.baseAddress, bytes.count)
    }
  }

  private static func kind(of descriptor: Int32) -> Kind {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return .plain }
    switch status.st_mode & S_IFMT {
    case S_IFSOCK: return .socket
    case S_IFIFO, S_IFCHR:
      let own = open("/proc/self/fd/\(descriptor)", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
      return own >= 0 ? .reopened(own) : .plain
    default: return .plain
    }
  }
}

/// Where lines go. Called from any thread; must not block.
package protocol LogSink: Sendable {
  /// One whole line with its line break. False when it could not be written.
  func write(_ line: UnsafeRawBufferPointer) -> Bool
}
