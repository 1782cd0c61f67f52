import Glibc
import Threads

/// A file or standard input, read line by line; memory is bounded by the longest line allowed.
package struct LineReader: ~Copyable {
  /// In words for whoever named the file.
  package struct Failure: Error, Sendable {
    package let message: String
  }

  package enum Line: Sendable {
    case text([UInt8])
    /// Passed over; its bytes are not kept.
    case tooLong
  }

  private let descriptor: Int32
  private let isOwned: Bool
  private let maximumLineBytes: Int
  private let signals: StopSignals?
  private var buffer: [UInt8] = []
  private var position = 0
  private var isAtEnd = false
  /// Of the line that `next` gave last, from 1.
  package private(set) var number = 0

  /// - Parameters:
  ///   - path: `-` is standard input.
  ///   - signals: at the first of which there are no more lines, also while one is waited for.
  package init(
    _ path: String, maximumLineBytes: Int, until signals: StopSignals? = nil
  ) throws(Failure) {
    self.maximumLineBytes = maximumLineBytes
    self.signals = signals
    if path == "-" {
      descriptor = STDIN_FILENO
      isOwned = false
      return
    }
    // A reader that can be interrupted does not wait here for somebody to write to a pipe, but
    // below.
    descriptor = open(path, O_RDONLY | O_CLOEXEC | (signals == nil ? 0 : O_NONBLOCK))
    isOwned = true
    guard descriptor >= 0 else {
      throw Failure(message: "\(path) cannot be opened: \(String(cString: strerror(errno)))")
    }
    var status = stat()
    if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
      close(descriptor)
      throw Failure(message: "\(path) cannot be read: it is a directory")
    }
    if signals != nil { _ = fcntl(descriptor, F_SETFL, O_RDONLY) }
  }

  deinit { if isOwned { close(descriptor) } }

  /// Without its line break; nil at the end. The last line may lack its break.
  package mutating func next() throws(Failure) -> Line? {
    number += 1
    var isTooLong = false
    while true {
      if let end = buffer[position...].firstIndex(of: 0x0A) {
        let line = buffer[position..<end]
        position = end + 1
        return isTooLong || line.count > maximumLineBytes ? .tooLong : .text(Self.trimmed(line))
      }
      if isAtEnd {
        let line = buffer[position...]
        position = buffer.count
        if isTooLong { return .tooLong }
        return line.isEmpty ? nil : .text(Self.trimmed(line))
      }
      if buffer.count - position > maximumLineBytes {
        isTooLong = true
        position = buffer.count
      }
      guard waitForBytes() else { return nil }
      try fill()
    }
  }

  /// False at the first signal.
  private func waitForBytes() -> Bool {
    guard let signals else { return true }
    // poll(2) passes over a descriptor below zero.
    var watched = [
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    repeat {
      if signals.isRaised { return false }
    } while poll(&watched, 2, -1) < 0 && errno == EINTR
    return !signals.isRaised
  }

  private static func trimmed(_ line: ArraySlice<UInt8>) -> [UInt8] {
    Array(line.last == 0x0D ? line.dropLast() : line)
  }

  private mutating func fill() throws(Failure) {
    buffer.removeFirst(position)
    position = 0
    let held = buffer.count
    buffer.append(contentsOf: repeatElement(0, count: 64 << 10))
    var got = -1
    repeat {
      got = buffer.withUnsafeMutableBytes {
        read(descriptor, $0.baseAddress.map { $0 + held }, $0.count - held)
      }
    } while got < 0 && errno == EINTR
    buffer.removeLast(buffer.count - held - max(got, 0))
    guard got >= 0 else {
      throw Failure(message: "reading failed: \(String(cString: strerror(errno)))")
    }
    isAtEnd = got == 0
  }
}

/// For verbs: what cannot be read ends the command.
extension LineReader {
  package static func opened(
    _ path: String, maximumLineBytes: Int, until signals: StopSignals? = nil
  ) throws(CommandFailure) -> LineReader {
    do throws(Failure) {
      return try LineReader(path, maximumLineBytes: maximumLineBytes, until: signals)
    } catch {
      throw CommandFailure(error)
    }
  }

  package mutating func nextLine() throws(CommandFailure) -> Line? {
    do throws(Failure) {
      return try next()
    } catch {
      throw CommandFailure(error)
    }
  }
}

/// Lines that are opened on one thread and read on a loop's.
package final class SharedLines: Sendable {
  private let reader: ThreadLock<LineReader>

  package init(
    _ path: String, maximumLineBytes: Int, until signals: StopSignals
  ) throws(CommandFailure) {
    reader = ThreadLock(
      try LineReader.opened(path, maximumLineBytes: maximumLineBytes, until: signals))
  }

  package var number: Int { reader.withLock { $0.number } }

  package func next() throws(CommandFailure) -> LineReader.Line? {
    try reader.withLock { (reader) throws(CommandFailure) in try reader.nextLine() }
  }
}
