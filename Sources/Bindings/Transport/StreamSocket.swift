import CLinux
import EventLoop
import Glibc

/// One connected socket that never blocks: the kernel's, or one of a network in memory. Its
/// `ByteStream`'s, and confined to that one's loop.
package protocol StreamSocket: AnyObject {
  /// Takes up to `buffer.count` bytes of what has come. No bytes: the peer writes nothing more.
  func receive(into buffer: UnsafeMutableRawBufferPointer) -> SocketResult
  /// Gives the peer as many of these bytes as there is space for.
  func send(_ bytes: UnsafeRawBufferPointer) -> SocketResult
  /// The peer reads an end behind what was sent.
  func finishWriting()
  /// Of the bytes sent, those that the peer's host has not acknowledged; nil where that is not
  /// known.
  var unacknowledgedBytes: UInt64? { get }
  /// Tells `handler` when the socket is ready, as `EventLoop.add` does, and keeps it until `close`.
  func watch(_ interest: Interest, _ handler: any LoopHandler) throws(LoopError)
  /// Of a socket that is watched.
  func change(to interest: Interest)
  /// Drops bytes that the peer has not been given. Further calls do nothing.
  func close()
}

package enum SocketResult {
  case bytes(Int)
  case wouldBlock
  /// Why the connection is of no use any more, as `errno` says it.
  case failed(Int32)
}

/// A socket of the kernel's.
final class SystemSocket: StreamSocket {
  private(set) var descriptor: Int32
  private let loop: EventLoop
  private var registration: Registration?

  /// - Parameter descriptor: connected and non-blocking; closed by this object.
  init(_ descriptor: Int32, loop: EventLoop) {
    self.descriptor = descriptor
    self.loop = loop
  }

  deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

  func receive(into buffer: UnsafeMutableRawBufferPointer) -> SocketResult {
    Self.result { recv(descriptor, buffer.baseAddress, buffer.count, 0) }
  }

  func send(_ bytes: UnsafeRawBufferPointer) -> SocketResult {
    Self.result { Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
  }

  /// Calls again as long as a signal comes in between.
  private static func result(of call: () -> Int) -> SocketResult {
    while true {
      let count = call()
      if count >= 0 { return .bytes(count) }
      switch errno {
      case EAGAIN: return .wouldBlock
      case EINTR: continue
      case let number: return .failed(number)
      }
    }
  }

  func finishWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

  var unacknowledgedBytes: UInt64? {
    guard descriptor >= 0 else { return nil }
    let bytes = linux_unacknowledged_bytes(descriptor)
    return bytes < 0 ? nil : UInt64(bytes)
  }

  func watch(_ interest: Interest, _ handler: any LoopHandler) throws(LoopError) {
    registration = try loop.add(descriptor, interest, handler)
  }

  func change(to interest: Interest) {
    if let registration { loop.change(registration, to: interest) }
  }

  func close() {
    if let registration { loop.remove(registration) }
    registration = nil
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }
}
