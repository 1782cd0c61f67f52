import EventLoop
import HTTP2
import TLS

@testable import Deliver
@testable import Transport

/// An APNs that does what a test tells it, request by request. Confined to the loop.
final class FakeServer {
  enum Reply {
    case answer(Int, String = "")
    /// With further header fields.
    case fields(Int, [(String, String)])
    /// A response head and body bytes, but no end.
    case unfinished(Int)
    /// A response head, and then the stream is reset.
    case broken(Int)
    case reset(UInt32)
    case silence
  }

  struct Request {
    let connection: Int
    let stream: Int32
    /// As they came, in their order.
    let fields: [(name: String, value: String)]
    let body: String

    /// Every value of a field, joined: a field that came twice equals nothing that a test expects.
    subscript(name: String) -> String? {
      let values = fields.filter { $0.name == name }.map(\.value)
      return values.isEmpty ? nil : values.joined(separator: " and ")
    }

    var token: String { String((self[":path"] ?? "").dropFirst("/3/device/".count)) }
    var authorization: String { self["authorization"] ?? "" }
  }

  var options = HTTP2ServerOptions()
  /// False: accepts, shakes hands, and never speaks HTTP/2.
  var speaks = true
  var decide: (Request) -> Reply = { _ in .answer(200) }
  /// By the number of the connection: how much later it answers.
  var delays: [Int: Duration] = [:]
  /// How much later the others answer.
  var delay: Duration?
  /// Answers wait for `release`, and come in one piece then.
  var holdsAnswers = false
  var held: [() -> Void] = []
  /// As many as something before the server lets pass; what connects besides is closed.
  var maximumConnections = Int.max
  /// Connections that were not let pass.
  private(set) var refusedConnections = 0
  /// Called behind the answers to what came in one piece.
  var afterRequests: (FakeConnection) -> Void = { _ in }
  private(set) var requests: [Request] = []
  /// By token.
  private var counts: [String: Int] = [:]
  /// What the client did against HTTP/2, and what this server could not do. The bed says that there
  /// is none when it stops.
  var faults: [String] = []
  private(set) var connections: [FakeConnection] = []
  private var listener: Listener?
  var loop: EventLoop?

  func start(on loop: EventLoop, tls: TLSServerContext, port: Int = 0) throws {
    self.loop = loop
    listener = try Listener(host: "127.0.0.1", port: port, tls: tls, loop: loop) {
      [unowned self] transport in
      let connection = FakeConnection(self, transport, number: connections.count)
      if open.count >= maximumConnections {
        refusedConnections += 1
        connection.drop()
        return connection
      }
      connections.append(connection)
      return connection
    }
    lastPort = self.port
  }

  var port: Int { listener?.port ?? 0 }
  /// Also when it no longer listens.
  private(set) var lastPort = 0
  var open: [FakeConnection] { connections.filter { !$0.isClosed } }

  func count(_ token: String) -> Int { counts[token] ?? 0 }

  func release() {
    holdsAnswers = false
    let answers = held
    held = []
    for answer in answers { answer() }
    for connection in open { connection.flush() }
  }

  func stop() {
    listener?.close()
    for connection in connections { connection.drop() }
  }

  func note(_ request: Request) {
    requests.append(request)
    counts[request.token, default: 0] += 1
  }
}
