import EventLoop
import Glibc
import HTTP2

@testable import Deliver
@testable import Transport

/// One connection to a `FakeServer`, as the server has it.
final class FakeConnection {
  let number: Int
  private(set) var isClosed = false
  /// Open, and hears and says nothing more: dropped on the way without a word.
  var isDeaf = false
  /// Leaves in the socket what comes; it still says what it has to say.
  private(set) var isReading = true
  private(set) var isGoingAway = false
  /// The last that came was a GOAWAY, alone: a frame of eight bytes behind its head.
  private(set) var heardGoodbye = false
  private(set) var session: HTTP2ServerSession?
  private(set) var lastStream: Int32 = 0
  private unowned let server: FakeServer
  private let transport: Connection
  private var fields: [Int: [(name: String, value: String)]] = [:]
  private var bodies: [Int: [UInt8]] = [:]
  private var answered = 0

  init(_ server: FakeServer, _ transport: Connection, number: Int) {
    self.server = server
    self.transport = transport
    self.number = number
    if server.speaks { session = try? HTTP2ServerSession(options: server.options) }
  }

  func drop() {
    session?.abandon()
    transport.close()
    isClosed = true
  }

  /// - Parameter pings: come with it, in one piece.
  func goAway(
    lastStream: Int32, reason: String = "", errorCode: UInt32 = HTTP2ErrorCode.noError,
    pings: Int = 0
  ) {
    isGoingAway = true
    let debug = reason.isEmpty ? [] : Array(#"{"reason":"\#(reason)"}"#.utf8)
    debug.withUnsafeBytes {
      session?.goAway(lastStreamID: lastStream, errorCode: errorCode, debug: $0)
    }
    write()
    for _ in 0..<pings { session?.ping() }
    flush()
  }

  /// What no session says.
  func write(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { transport.write($0) }
    flush()
  }

  private func write() {
    do {
      while let bytes = try session?.nextOutput() { transport.write(bytes) }
    } catch {
      server.faults.append("writing: \(error)")
    }
  }

  func flush() {
    guard session != nil, !isClosed, !isDeaf else { return }
    write()
    transport.flush()
    if !isReading { ignoreSocket() }
  }

  func stopReading() {
    isReading = false
    ignoreSocket()
  }

  /// The kernel would keep more and more of what is not read: on a busy machine all that there is.
  func takeLittle() { transport.shrink(SO_RCVBUF) }

  func readAgain() {
    isReading = true
    transport.stream.isReadingPaused = false
    flush()
  }

  private func ignoreSocket() {
    transport.stream.isReadingPaused = true
  }

  /// Answers 200 to what was met with silence.
  func answer(stream: Int32) {
    guard let session, !isClosed,
      let slot = fields.keys.first(where: { session.stream(of: $0) == stream })
    else { return }
    perform(.answer(200), slot: slot)
    flush()
  }

  func perform(_ reply: FakeServer.Reply, slot: Int) {
    guard let session, !isClosed else { return }
    do {
      try perform(reply, slot: slot, session)
    } catch {
      server.faults.append("answering: \(error)")
    }
  }

  private func perform(
    _ reply: FakeServer.Reply, slot: Int, _ session: HTTP2ServerSession
  ) throws {
    switch reply {
    case .answer(let status, let body):
      let head = try Self.head(status)
      Array(body.utf8).withUnsafeBytes { _ = session.respond(slot: slot, head, body: $0) }
    case .fields(let status, let fields):
      let head = try Self.head(status, fields)
      _ = session.respond(slot: slot, head, body: UnsafeRawBufferPointer(start: nil, count: 0))
    case .unfinished(let status):
      session.respond(slot: slot, try Self.head(status), source: EndlessBody())
    case .broken(let status):
      session.respond(slot: slot, try Self.head(status), source: EndlessBody(isFast: true))
      flush()
      session.reset(slot: slot, errorCode: HTTP2ErrorCode.internalError)
    case .reset(let code): session.reset(slot: slot, errorCode: code)
    case .silence: return
    }
  }

  private static func head(
    _ status: Int, _ fields: [(String, String)] = []
  ) throws -> HTTP2FieldBlock {
    var all: [(name: String, value: String, indexing: HTTP2Indexing)] = [
      (":status", String(status), .indexed)
    ]
    for (name, value) in fields { all.append((name, value, .indexed)) }
    return try HTTP2FieldBlock(all, values: .copied)
  }
}

private final class EndlessBody: HTTP2BodySource {
  private let isFast: Bool

  /// - Parameter isFast: as much as the client takes in few frames, and not byte by byte.
  init(isFast: Bool = false) { self.isFast = isFast }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isFinal: Bool) {
    let count = isFast ? buffer.count : 1
    for index in 0..<count { buffer[index] = 0x20 }
    return (count, false)
  }
}

extension FakeConnection: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) { flush() }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    guard let session, !isDeaf else { return }
    heardGoodbye = bytes.suffix(17).prefix(4).elementsEqual([0, 0, 8, 7])
    do {
      try session.receive(bytes)
    } catch {
      server.faults.append("reading: \(error)")
      return drop()
    }
    let slots = hear(session)
    for slot in slots {
      let request = FakeServer.Request(
        connection: number, stream: session.stream(of: slot) ?? 0, fields: fields[slot] ?? [],
        body: String(decoding: bodies[slot] ?? [], as: UTF8.self))
      lastStream = max(lastStream, request.stream)
      server.note(request)
      let reply = server.decide(request)
      guard !server.holdsAnswers else {
        server.held.append { [self] in perform(reply, slot: slot) }
        continue
      }
      guard let delay = server.delays[number] ?? server.delay else {
        perform(reply, slot: slot)
        continue
      }
      server.loop?.schedule(after: delay) { [self] in
        perform(reply, slot: slot)
        flush()
      }
    }
    flush()
    if !slots.isEmpty { server.afterRequests(self) }
  }

  /// The requests that have come whole.
  private func hear(_ session: HTTP2ServerSession) -> [Int] {
    var ended: [Int] = []
    while let heard = session.nextHeard() {
      switch heard {
      case .began(let slot, _):
        fields[slot] = []
        bodies[slot] = []
      case .field(let slot, let name, let value):
        fields[slot]?.append(
          (String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
      case .body(let slot, let bytes): bodies[slot]?.append(contentsOf: bytes)
      case .ended(let slot): ended.append(slot)
      case .closed(let slot, _): ended.removeAll { $0 == slot }
      }
    }
    return ended
  }

  func connectionDrained(_ connection: Connection) {}
  func connectionClosed(_ connection: Connection, error: TransportError?) { isClosed = true }
}

extension Connection {
  /// Leaves little room in the socket for what its peer does not read.
  func shrinkSocket() { shrink(SO_SNDBUF) }

  fileprivate func shrink(_ buffer: Int32) {
    var bytes: Int32 = 1
    guard let socket = stream.socket as? SystemSocket else { return }
    setsockopt(socket.descriptor, SOL_SOCKET, buffer, &bytes, socklen_t(MemoryLayout<Int32>.size))
  }
}
