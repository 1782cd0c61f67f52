import EventLoop
import Glibc
import HTTP2
import Model
import TLS
import Transport

@testable import Deliver

/// An APNs that does what a test tells it, request by request. Confined to the loop.
final class FakeServer {
  enum Reply {
    case answer(Int, String = "")
    /// A response head and body bytes, but no end.
    case unfinished(Int)
    case reset(UInt32)
    case silence
  }

  struct Request {
    let connection: Int
    let stream: Int32
    let token: String
    let authorization: String
  }

  var options = HTTP2ServerOptions()
  /// False: accepts, shakes hands, and never speaks HTTP/2.
  var speaks = true
  var decide: (Request) -> Reply = { _ in .answer(200) }
  /// By the number of the connection: how much later it answers.
  var delays: [Int: Duration] = [:]
  /// Called behind the answers to what came in one piece.
  var afterRequests: (FakeConnection) -> Void = { _ in }
  private(set) var requests: [Request] = []
  private(set) var connections: [FakeConnection] = []
  private var listener: Listener?
  fileprivate var loop: EventLoop?

  func start(on loop: EventLoop, tls: TLSServerContext) throws {
    self.loop = loop
    listener = try Listener(host: "127.0.0.1", port: 0, tls: tls, loop: loop) {
      [unowned self] transport in
      let connection = FakeConnection(self, transport, number: connections.count)
      connections.append(connection)
      return connection
    }
  }

  var port: Int { listener?.port ?? 0 }
  var open: [FakeConnection] { connections.filter { !$0.isClosed } }

  func count(_ token: String) -> Int { requests.count { $0.token == token } }

  func stop() {
    listener?.close()
    for connection in connections { connection.drop() }
  }

  fileprivate func note(_ request: Request) { requests.append(request) }
}

final class FakeConnection {
  let number: Int
  private(set) var isClosed = false
  private(set) var session: HTTP2ServerSession?
  private(set) var lastStream: Int32 = 0
  private unowned let server: FakeServer
  private let transport: Connection
  private var fields: [Int: [String: String]] = [:]
  private var ended: [Int] = []
  private var answered = 0

  init(_ server: FakeServer, _ transport: Connection, number: Int) {
    self.server = server
    self.transport = transport
    self.number = number
    if server.speaks { session = try? HTTP2ServerSession(options: server.options, delegate: self) }
  }

  func drop() {
    session?.abandon()
    transport.close()
    isClosed = true
  }

  func goAway(lastStream: Int32, reason: String = "") {
    let debug = reason.isEmpty ? [] : Array(#"{"reason":"\#(reason)"}"#.utf8)
    debug.withUnsafeBytes {
      session?.goAway(lastStreamID: lastStream, errorCode: HTTP2ErrorCode.noError, debug: $0)
    }
    flush()
  }

  func flush() {
    guard let session, !isClosed else { return }
    while let bytes = try? session.nextOutput() { transport.write(bytes) }
    transport.flush()
  }

  func perform(_ reply: FakeServer.Reply, slot: Int) {
    guard let session else { return }
    switch reply {
    case .answer(let status, let body):
      guard let head = try? Self.head(status) else { return }
      Array(body.utf8).withUnsafeBytes { _ = session.respond(slot: slot, head, body: $0) }
    case .unfinished(let status):
      guard let head = try? Self.head(status) else { return }
      session.respond(slot: slot, head, source: EndlessBody())
    case .reset(let code): session.reset(slot: slot, errorCode: code)
    case .silence: return
    }
  }

  private static func head(_ status: Int) throws -> HTTP2FieldBlock {
    try HTTP2FieldBlock([(":status", String(status), .indexed)], values: .copied)
  }
}

private final class EndlessBody: HTTP2BodySource {
  func read(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isFinal: Bool) {
    buffer[0] = 0x20
    return (1, false)
  }
}

extension FakeConnection: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) { flush() }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    guard let session else { return }
    guard (try? session.receive(bytes)) != nil else { return drop() }
    let slots = ended
    ended = []
    for slot in slots {
      let found = fields[slot] ?? [:]
      let request = FakeServer.Request(
        connection: number, stream: session.stream(of: slot) ?? 0,
        token: String((found[":path"] ?? "").dropFirst("/3/device/".count)),
        authorization: found["authorization"] ?? "")
      lastStream = max(lastStream, request.stream)
      server.note(request)
      let reply = server.decide(request)
      guard let delay = server.delays[number] else {
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

  func connectionDrained(_ connection: Connection) {}
  func connectionClosed(_ connection: Connection, error: TransportError?) { isClosed = true }
}

extension FakeConnection: HTTP2ServerDelegate {
  func http2(slot: Int, requestBegan stream: Int32) { fields[slot] = [:] }
  func http2(slot: Int, field name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    fields[slot]?[String(decoding: name, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
  }
  func http2(slot: Int, requestBody bytes: UnsafeRawBufferPointer) {}
  func http2(requestEnded slot: Int) { ended.append(slot) }
  func http2(slot: Int, streamClosed errorCode: UInt32) {}
}
