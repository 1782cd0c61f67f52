import EventLoop
import TLS
import Testing

@testable import Transport

/// Confined to the loop.
final class Client: ConnectionDelegate {
  var isOpen = false
  var isClosed = false
  var error: TransportError?
  var bytes: [UInt8] = []
  var drained = 0
  private let loop: EventLoop

  init(_ loop: EventLoop) { self.loop = loop }

  /// Waits on the loop's clock until `condition` holds, a minute at most.
  func until(_ condition: () -> Bool) async {
    let deadline = ContinuousClock.now + .seconds(60)
    while !condition(), ContinuousClock.now < deadline { await loop.wait(.milliseconds(3)) }
    #expect(condition())
  }

  func connectionOpened(_ connection: Connection) { isOpen = true }
  func connection(_ connection: Connection, received: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: received)
  }
  func connectionDrained(_ connection: Connection) { drained += 1 }
  func connectionClosed(_ connection: Connection, error: TransportError?) {
    isClosed = true
    self.error = error
  }
}

final class Echo: ConnectionDelegate {
  /// Listens at a free port, and keeps every connection that comes.
  func listen(
    host: String = "127.0.0.1", tls: TLSServerContext? = nil, on loop: EventLoop
  ) throws -> Listener {
    try Listener(host: host, port: 0, tls: tls, loop: loop) { [self] in
      connections.append($0)
      return self
    }
  }

  var connections: [Connection] = []
  var closed = 0
  var isSilent = false
  func connectionOpened(_ connection: Connection) {}
  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    if !isSilent { connection.write(bytes) }
  }
  func connectionDrained(_ connection: Connection) {}
  func connectionClosed(_ connection: Connection, error: TransportError?) { closed += 1 }
}
