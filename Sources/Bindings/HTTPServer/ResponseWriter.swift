import Transport

/// A response on its way: as much of it is handed to the socket as that takes, so that no more than
/// a piece or two wait there, whatever its length. Confined to its connection.
final class ResponseWriter {
  /// What is handed to the socket at a time.
  private static let pieceBytes = 16 << 10

  private let transport: Connection
  private var body: [UInt8] = []
  private var start = 0
  /// Set while writing: `connectionDrained` is ignored then.
  private var isWriting = false

  init(_ transport: Connection) { self.transport = transport }

  func begin(_ head: [UInt8], _ body: [UInt8]) {
    self.body = body
    start = 0
    head.withUnsafeBytes { transport.write($0) }
  }

  /// Whether all of it has left; where another follows, whether next to nothing waits.
  func write(isLast: Bool) -> Bool {
    guard !isWriting else { return false }
    isWriting = true
    defer { isWriting = false }
    while start < body.count {
      if transport.pendingBytes >= Self.pieceBytes { transport.flush() }
      guard transport.isOpen, transport.pendingBytes < Self.pieceBytes else { return false }
      let end = min(body.count, start + Self.pieceBytes)
      body[start..<end].withUnsafeBytes { transport.write($0) }
      start = end
    }
    body = []
    start = 0
    if isLast { transport.flush() }
    return transport.isOpen && transport.pendingBytes < (isLast ? 1 : Self.pieceBytes)
  }
}
