import Glibc
import Synchronization
import Threads

/// Takes messages as systemd does. Used by one task at a time.
package final class DatagramServer {
  package struct Silence: Error {}

  private static let count = Atomic(0)
  /// As `NOTIFY_SOCKET` has it.
  package let name: String
  private let descriptor: Int32
  /// Each message so far, as its fields.
  package private(set) var heard: [[String]] = []

  /// - Parameter path: nil: an abstract name.
  package init(_ path: String? = nil) throws {
    let number = Self.count.add(1, ordering: .relaxed).newValue
    name = path ?? "@fanfare-notify-\(getpid())-\(number)"
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = name.utf8.map { $0 == UInt8(ascii: "@") ? 0 : $0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    let failure = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
    }
    if failure != 0 { throw Silence() }
  }

  deinit { close(descriptor) }

  /// The next message; fails when none comes for a minute. It is awaited on a thread of its own,
  /// not on one of the few that all tests share.
  package func next() async throws -> [String] {
    let descriptor = descriptor
    let bytes = await withCheckedContinuation { answer in
      let thread = SystemThread { answer.resume(returning: Self.receive(descriptor)) }
      if let thread { thread.detach() } else { answer.resume(returning: nil) }
    }
    guard let bytes else { throw Silence() }
    let fields = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    heard.append(fields)
    return fields
  }

  private static func receive(_ descriptor: Int32) -> [UInt8]? {
    guard hasMessage(descriptor, milliseconds: 60_000) else { return nil }
    var buffer = [UInt8](repeating: 0, count: 8_192)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return Array(buffer.prefix(max(0, count)))
  }

  /// The next message with a field that begins so; fails when it is not among very many.
  package func until(_ prefix: String) async throws -> [String] {
    for _ in 0..<10_000 {
      let message = try await next()
      if message.contains(where: { $0.hasPrefix(prefix) }) { return message }
    }
    throw Silence()
  }

  /// Whether no message is there.
  package var isSilent: Bool { !Self.hasMessage(descriptor, milliseconds: 0) }

  private static func hasMessage(_ descriptor: Int32, milliseconds: Int32) -> Bool {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&watched, 1, milliseconds) > 0
  }
}
