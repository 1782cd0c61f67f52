import EventLoop
import Legacy
import TLS
import Transport

/// A gateway of the legacy binary interface that does what a test tells it. Confined to the loop.
final class FakeGateway {
  enum Reply {
    case take
    /// An error response, and the end.
    case refuse(LegacyStatus, UInt32)
    /// The end without a word.
    case close
    /// These bytes, and the end.
    case say([UInt8])
  }

  struct Heard: Equatable {
    let connection: Int
    let notification: LegacyNotification

    var token: String { FeedbackTuple(seconds: 0, token: notification.token).hexToken }
  }

  var decide: (Heard) -> Reply = { _ in .take }
  private(set) var heard: [Heard] = []
  private(set) var connections: [GatewayConnection] = []
  /// Bytes that no gateway would read on.
  fileprivate(set) var faults = 0
  private var listener: Listener?

  func start(on loop: EventLoop, tls: TLSServerContext) throws {
    listener = try Listener(host: "127.0.0.1", port: 0, tls: tls, loop: loop) {
      [unowned self] transport in
      let connection = GatewayConnection(self, transport, number: connections.count)
      connections.append(connection)
      return connection
    }
  }

  var endpoint: Endpoint { Endpoint(host: "127.0.0.1", port: listener?.port ?? 0) }

  func stop() {
    listener?.close()
    for connection in connections { connection.close() }
  }

  func tokens(on connection: Int) -> [String] {
    heard.filter { $0.connection == connection }.map(\.token)
  }

  fileprivate func hear(_ heard: Heard) -> Reply {
    self.heard.append(heard)
    return decide(heard)
  }
}

final class GatewayConnection: ConnectionDelegate {
  private unowned let gateway: FakeGateway
  private let transport: Connection
  private let number: Int
  private var bytes: [UInt8] = []
  private var isOver = false
  private var unsaid: ArraySlice<UInt8> = []

  init(_ gateway: FakeGateway, _ transport: Connection, number: Int) {
    self.gateway = gateway
    self.transport = transport
    self.number = number
  }

  func close() { transport.close() }

  /// Says something, byte by byte as networks may, and no more.
  func say(_ bytes: [UInt8]) {
    isOver = true
    unsaid = bytes[...]
    sayNext()
  }

  private func sayNext() {
    guard let byte = unsaid.popFirst() else { return close() }
    [byte].withUnsafeBytes { transport.write($0) }
  }

  func connectionOpened(_ connection: Connection) {}

  func connection(_ connection: Connection, received more: UnsafeRawBufferPointer) {
    bytes += more
    while !isOver {
      switch LegacyNotification.parse(bytes[...]) {
      case .incomplete: return
      case .invalid:
        gateway.faults += 1
        return
      case .notification(let notification, _, let count):
        bytes.removeFirst(count)
        switch gateway.hear(.init(connection: number, notification: notification)) {
        case .take: break
        case .close:
          isOver = true
          close()
        case .say(let bytes): say(bytes)
        case .refuse(let status, let identifier):
          say([8, status.code] + (0..<4).map { UInt8(identifier >> (24 - 8 * $0) & 0xFF) })
        }
      }
    }
  }

  func connectionDrained(_ connection: Connection) { if isOver { sayNext() } }
  func connectionClosed(_ connection: Connection, error: TransportError?) {}
}
