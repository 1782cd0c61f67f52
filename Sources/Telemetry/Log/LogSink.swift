import Glibc
import Synchronization

/// Where lines go. Called from any thread; must not block.
package protocol LogSink: Sendable {
  /// One whole line with its line break. False when it could not be written.
  func write(_ line: UnsafeRawBufferPointer) -> Bool
}

/// Writes each line to a descriptor by one write(2). A descriptor that takes nothing now (a full
/// pipe, a stopped terminal), a full disk or a reader that went away cost the line, never time: a
/// lane must not wait for a log.
package final class DescriptorSink: LogSink {
  private let descriptor: Int32
  /// The last line broke off in the middle: the next one starts a new line.
  private let isTorn = Atomic(false)

  /// Standard error. Ignores SIGPIPE from now on in the whole process: a log whose reader ends
  /// must not end it.
  package static func standardError() -> DescriptorSink {
    DescriptorSink(descriptor: STDERR_FILENO)
  }

  /// The descriptor stays the caller's to close.
  package init(descriptor: Int32) {
    self.descriptor = descriptor
    signal(SIGPIPE, SIG_IGN)
  }

  package func write(_ line: UnsafeRawBufferPointer) -> Bool {
    // A pipe that polls as writable has room for PIPE_BUF bytes, which is the longest line.
    var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    guard poll(&room, 1, 0) == 1, room.revents & Int16(POLLOUT) != 0 else { return false }
    if isTorn.load(ordering: .relaxed) {
      var lineBreak: UInt8 = 0x0A
      guard Glibc.write(descriptor, &lineBreak, 1) == 1 else { return false }
      isTorn.store(false, ordering: .relaxed)
    }
    var written = Glibc.write(descriptor, line.baseAddress, line.count)
    while written < 0, errno == EINTR {
      written = Glibc.write(descriptor, line.baseAddress, line.count)
    }
    if written > 0, written < line.count { isTorn.store(true, ordering: .relaxed) }
    return written == line.count
  }
}

/// Keeps lines, for tests.
package final class MemorySink: LogSink {
  private let kept = Mutex<[String]>([])

  package init() {}

  /// Without their line breaks.
  package var lines: [String] { kept.withLock { $0 } }
  package func removeAll() { kept.withLock { $0.removeAll() } }

  package func write(_ line: UnsafeRawBufferPointer) -> Bool {
    kept.withLock { $0.append(String(decoding: line.dropLast(), as: UTF8.self)) }
    return true
  }
}

/// Takes lines and forgets them.
package struct DiscardingSink: LogSink {
  package init() {}
  package func write(_ line: UnsafeRawBufferPointer) -> Bool { true }
}
