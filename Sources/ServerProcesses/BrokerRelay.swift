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
  /// Bytes that wait for the gate.
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

/// Cuts a stream of Kafka's protocol into frames: each a header of a fixed length that begins with
/// the size of all that follows these four bytes, and a body.
struct FrameReader {
  enum Part {
    case header([UInt8], size: Int)
    case body(UnsafeRawBufferPointer)
    case end
  }

  private let headerBytes: Int
  private var header: [UInt8] = []
  private var rest = 0
  /// It was no frame: whatever comes is one body without an end.
  private var isLost = false

  init(headerBytes: Int) { self.headerBytes = headerBytes }

  mutating func read(_ bytes: UnsafeRawBufferPointer, part: (Part) -> Void) {
    var bytes = bytes[...]
    while !bytes.isEmpty {
      if isLost { return part(.body(UnsafeRawBufferPointer(rebasing: bytes))) }
      if rest == 0 {
        let taken = min(headerBytes - header.count, bytes.count)
        header += bytes.prefix(taken)
        bytes = bytes.dropFirst(taken)
        guard header.count == headerBytes else { return }
        let size = header[0..<4].reduce(0) { $0 << 8 | Int($1) }
        rest = size + 4 - headerBytes
        isLost = rest < 0 || size > Int(Int32.max)
        part(.header(header, size: size))
        header = []
      } else {
        let taken = min(rest, bytes.count)
        part(.body(UnsafeRawBufferPointer(rebasing: bytes.prefix(taken))))
        bytes = bytes.dropFirst(taken)
        rest -= taken
      }
      if rest == 0 { part(.end) }
    }
  }
}

/// Puts another port into the answers that tell a Kafka client where brokers are (Metadata and
/// FindCoordinator), so that the client stays at the port it began with. Everything else passes as
/// it is. A pure machine for one connection: bytes in, bytes out.
///
/// Frames are those of Kafka's protocol guide: a size of four bytes, then in a request the kind,
/// its version and a number, in an answer the number of its request.
package struct BrokerAddresses {
  /// The kinds of requests whose answers name brokers.
  private static let kinds: Set<Int> = [3, 10]
  /// Requests in flight that are kept in mind. librdkafka has one of these kinds at a time.
  private static let maximumRequests = 1_000
  /// A larger answer passes unchanged: it would name hundreds of thousands of topics.
  private static let maximumAnswerBytes = 16 << 20

  private let old: [UInt8]
  private let new: [UInt8]
  private var requests = FrameReader(headerBytes: 12)
  private var answers = FrameReader(headerBytes: 8)
  private var awaited: Set<Int> = []
  /// The answer that is being gathered.
  private var gathered: [UInt8]?

  package init(host: String, port: Int, shownAs shown: Int) {
    func bytes(_ port: Int) -> [UInt8] {
      Array(host.utf8) + [0, 0, UInt8(port >> 8 & 0xFF), UInt8(port & 0xFF)]
    }
    old = bytes(port)
    new = bytes(shown)
  }

  /// Takes bytes of the client.
  package mutating func hear(_ bytes: UnsafeRawBufferPointer) {
    requests.read(bytes) { part in
      guard case .header(let header, _) = part, Self.kinds.contains(Self.number(header[4..<6])),
        awaited.count < Self.maximumRequests
      else { return }
      awaited.insert(Self.number(header[8..<12]))
    }
  }

  /// Takes bytes of the broker; `pass` gets those for the client, in order.
  package mutating func answer(
    _ bytes: UnsafeRawBufferPointer, pass: (UnsafeRawBufferPointer) -> Void
  ) {
    answers.read(bytes) { part in
      switch part {
      case .header(let header, let size):
        let isAddress = awaited.remove(Self.number(header[4..<8])) != nil
        if isAddress, (4...Self.maximumAnswerBytes).contains(size) {
          gathered = header
        } else {
          header.withUnsafeBytes(pass)
        }
      case .body(let bytes):
        if gathered == nil { pass(bytes) } else { gathered?.append(contentsOf: bytes) }
      case .end:
        guard let frame = gathered else { return }
        frame.replacing(old, with: new).withUnsafeBytes(pass)
        gathered = nil
      }
    }
  }

  /// Big-endian.
  private static func number(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.reduce(0) { $0 << 8 | Int($1) }
  }
}
