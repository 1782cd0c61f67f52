import EventLoop
import Transport

/// Two connections, each of which gets what the other receives. While the gate is frozen it keeps
/// what comes, and forgets it with the connection that it came from. Confined to its loop.
final class BrokerRelay: ConnectionDelegate {
  /// A side that takes nothing does not fill our memory. An answer of Kafka's has 50 MiB at most.
  private static let maximumBytes = 64 << 20

  var whenClosed: () -> Void = {}
  private let client: Connection
  private var server: Connection?
  private let gate: BrokerGate
  private var addresses: BrokerAddresses
  private var requests = FrameReader(headerBytes: 6)
  /// What waits for the gate.
  private var forServer: [UInt8] = []
  private var forClient: [UInt8] = []
  /// One side has closed; the other still gets what was said.
  private var isEnding = false

  init(
    _ client: Connection, to broker: Endpoint, shownAs port: Int, gate: BrokerGate,
    loop: EventLoop
  ) {
    self.client = client
    self.gate = gate
    addresses = BrokerAddresses(host: broker.host, port: broker.port, shownAs: port)
    let server = Connection(
      to: broker, tls: nil, options: TransportOptions(), loop: loop, delegate: self)
    self.server = server
    server.connect()
  }

  func close() {
    client.close()
    server?.close()
    server = nil
    whenClosed()
  }

  func connectionOpened(_ connection: Connection) {}

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    if connection === client {
      addresses.hear(bytes)
      requests.read(bytes) { part in
        switch part {
        case .header(let header, _):
          gate.see(requestOfKind: Int(header[4]) << 8 | Int(header[5]))
          header.withUnsafeBytes(toServer)
        case .body(let bytes): toServer(bytes)
        case .end: break
        }
      }
    } else {
      addresses.answer(bytes, pass: toClient)
    }
  }

  private func toServer(_ bytes: UnsafeRawBufferPointer) {
    guard let server else { return }
    pass(bytes, to: server, keeping: &forServer)
  }

  private func toClient(_ bytes: UnsafeRawBufferPointer) {
    pass(bytes, to: client, keeping: &forClient)
  }

  private func pass(
    _ bytes: UnsafeRawBufferPointer, to other: Connection, keeping kept: inout [UInt8]
  ) {
    guard other.pendingBytes + kept.count + bytes.count <= Self.maximumBytes else { return close() }
    if gate.isFrozen { kept += bytes } else { other.write(bytes) }
  }

  /// The gate is open again.
  func goOn() {
    let (toServer, toClient) = (forServer, forClient)
    (forServer, forClient) = ([], [])
    toServer.withUnsafeBytes { server?.write($0) }
    toClient.withUnsafeBytes { client.write($0) }
  }

  func connectionDrained(_ connection: Connection) {
    if isEnding { close() }
  }

  func connectionClosed(_ connection: Connection, error: TransportError?) {
    let other = connection === client ? server : client
    guard !isEnding, error == nil, let other, other.isOpen, other.pendingBytes > 0 else {
      return close()
    }
    isEnding = true
  }
}
