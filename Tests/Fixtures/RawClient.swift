import Glibc
import TLS

/// A client that sends what it is told, byte for byte, and reads what comes, ten seconds at most.
package final class RawClient {
  private let descriptor: Int32
  private var session: TLSSession?

  /// - Parameters:
  ///   - tls: what is sent and read is encrypted on its way.
  ///   - host: whose certificate the server must show.
  package convenience init(
    port: Int, tls: TLSClientContext?, host: String = "127.0.0.1"
  ) throws {
    try self.init(port: port)
    guard let tls else { return }
    let session = try TLSSession(client: tls, host: host)
    self.session = session
    try session.handshake()
    while !session.isEstablished {
      sendCiphertext()
      guard let bytes = receive(), !bytes.isEmpty else { throw Refused(error: ECONNRESET) }
      _ = try bytes.withUnsafeBytes { try session.receive($0) { _ in } }
    }
    sendCiphertext()
  }

  package init(port: Int) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var limit = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw Refused(error: errno) }
  }

  deinit { close(descriptor) }

  package struct Refused: Error { let error: Int32 }

  /// What both sides have agreed to speak.
  package var applicationProtocol: String? { session?.applicationProtocol }

  /// False when the server has closed the connection.
  @discardableResult
  package func send(_ bytes: [UInt8]) -> Bool {
    if let session {
      guard (try? bytes.withUnsafeBytes { try session.send($0) }) != nil else { return false }
      return sendCiphertext()
    }
    return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
  }

  @discardableResult
  package func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  /// Sends until the kernel takes nothing for `idleMilliseconds`.
  ///
  /// - Returns: the number of bytes that it took.
  package func sendNow(_ bytes: [UInt8], idleMilliseconds: Int32 = 500) -> Int {
    var sent = 0
    while sent < bytes.count {
      var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      guard poll(&watched, 1, idleMilliseconds) > 0 else { return sent }
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      }
      guard count > 0 else { return sent }
      sent += count
    }
    return sent
  }

  /// Waits so long at most; whether the server has closed, or sent something.
  package func waitForClose(milliseconds: Int32) -> Bool {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&watched, 1, milliseconds) > 0
  }

  /// Waits so long at most; whether sending fails, since the server has closed for good.
  package func waitForEnd(milliseconds: Int32) -> Bool {
    var watched = pollfd(fd: descriptor, events: 0, revents: 0)
    return poll(&watched, 1, milliseconds) > 0
  }

  /// Something has come that was not read.
  package var hasBytes: Bool {
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0
  }

  package func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Until the server closes; nil when it does not.
  package func readToEnd() -> String? {
    var all: [UInt8] = []
    while let some = readSome() {
      if some.isEmpty { return String(decoding: all, as: UTF8.self) }
      all += some
    }
    return nil
  }

  /// Until `text` has come; nil when the connection ends before, or nothing comes.
  package func read(until text: String) -> String? {
    var all = ""
    while !all.contains(text) {
      guard let some = readSome(), !some.isEmpty else { return nil }
      all += String(decoding: some, as: UTF8.self)
    }
    return all
  }

  @discardableResult
  private func sendCiphertext() -> Bool {
    guard let session else { return true }
    let bytes = Array(session.ciphertext)
    session.consume(bytes.count)
    return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
  }

  /// Empty at the end; nil when nothing comes.
  private func readSome() -> [UInt8]? {
    guard let session else { return receive() }
    while true {
      guard let bytes = receive(), !bytes.isEmpty else { return [] }
      var plain: [UInt8] = []
      let goesOn = try? bytes.withUnsafeBytes { try session.receive($0) { plain += Array($0) } }
      if !plain.isEmpty || goesOn != true { return plain }
    }
  }

  private func receive() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    // A connection that is reset has ended, too.
    guard count >= 0 else { return errno == ECONNRESET ? [] : nil }
    return Array(buffer[..<count])
  }
}
