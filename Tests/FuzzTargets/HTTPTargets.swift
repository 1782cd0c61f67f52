import API
import Deliver
import EventLoop
import HTTPServer
import Ingest
import JSON
import Kafka
import Keyspace
import Redis
import Telemetry
import Transport

let httpTargets = [
  FuzzTarget("http1") { input in
    let whole = HTTPReading(input, [0..<input.count])
    for cut in input.cuts { try holdEqual(HTTPReading(input, cut), whole, "requests, in pieces") }
    for request in whole.requests {
      try hold(request.head.path.hasPrefix("/"), "the path \(request.head.path)")
      try hold(!request.head.method.isEmpty, "no method")
    }
    if let refusal = whole.refusal {
      try hold([400, 431].contains(refusal.status) && !refusal.reason.isEmpty, "\(refusal)")
    }
  },
  // An answer to a push, by a server that closes behind it.
  FuzzTarget("http1-answer") { input in
    let whole = answer(input, [0..<input.count])
    for cut in input.cuts { try holdEqual(answer(input, cut), whole, "an answer, in pieces") }
    try hold(whole.status == 0 || (200..<600).contains(whole.status), "status \(whole.status)")
    try hold(whole.status != 0 || !whole.isWhole, "an answer without a status")
    try hold(whole.body.count <= 16, "a body of \(whole.body.count) bytes")
  },
  // A request, as it comes; whoever sends it may do everything.
  FuzzTarget("api") { input in
    let reading = HTTPReading(input, [0..<input.count], maximumBodyBytes: 64 << 10)
    for request in reading.requests.prefix(4) { try APIEnd.shared.check(request) }
  },
]

/// As far as it is read. What comes behind it, in its own piece, is no part of it.
private func answer(_ input: UnsafeRawBufferPointer, _ pieces: [Range<Int>]) -> HTTP1Answer {
  var reader = HTTP1AnswerReader(keptBodyBytes: 16, keptFields: [Array("retry-after".utf8)])
  for piece in pieces {
    do throws(HTTP1AnswerReader.Fault) {
      guard try !reader.receive(input[piece: piece]) else { break }
    } catch {
      return reader.answer
    }
  }
  reader.closed(inOrder: true)
  var answer = reader.answer
  if answer.isWhole { answer.endsConnection = false }
  return answer
}

/// What a parser makes of some bytes, however they are cut.
struct HTTPReading: Equatable {
  struct Request: Equatable {
    let head: HTTPHead
    var body: [UInt8] = []
  }

  /// Those that came whole.
  private(set) var requests: [Request] = []
  private(set) var refusal: HTTPRefusal?
  private var open: Request?

  init(
    _ input: UnsafeRawBufferPointer, _ pieces: [Range<Int>], maximumBodyBytes: Int = .max
  ) {
    var parser = HTTPRequestParser(maximumHeadBytes: 2048)
    for piece in pieces { take(input[piece: piece], &parser) }
  }

  private mutating func take(_ bytes: UnsafeRawBufferPointer, _ parser: inout HTTPRequestParser) {
    var offset = 0
    while true {
      switch parser.next(bytes, from: &offset) {
      case .head(let head):
        open = Request(head: head)
        if head.body == .none { close() }
      case .body(let range): open?.body += Array(bytes[range])
      case .end: close()
      case .refused(let refusal):
        self.refusal = refusal
        return
      case .incomplete: return
      }
    }
  }

  private mutating func close() {
    if let open { requests.append(open) }
    open = nil
  }
}

/// The API as it answers whoever has the key of an administrator, with a Redis and a Kafka that are
/// closed: every request is read and judged, and none is done.
private final class APIEnd: Sendable {
  static let shared = APIEnd()

  private let turns = Turns()
  private let loop: EventLoop
  private let service: APIService
  private let secret: String

  private init() {
    let made = APIKey.make(name: "fuzz", scope: .admin)
    secret = made.secret
    var redis = RedisOptions(port: 1)
    redis.network = NoNetwork()
    let options = APIOptions(
      http: HTTPServerOptions(wallClock: { fuzzTime }), redis: redis,
      kafka: KafkaOptions(bootstrapServers: "a:1"),
      keyspace: Keyspace(), ingest: IngestOptions(), plainSetKey: nil,
      keys: (try? APIKeyRing(text: made.line)) ?? APIKeyRing(keys: []),
      requestsPerSecond: Int(Int32.max), templateProblem: { $0 == "none" ? "unknown" : nil },
      log: Log(sink: NoSink()), audit: Log(sink: NoSink()), wallClock: { fuzzTime })
    let loop = EventLoop(name: "api", driver: turns)
    let shared = APISharedState(options, loop: loop)
    let service = APIService(options, shared, loop: loop)
    self.service = service
    self.loop = loop
    _ = turns.run(on: loop, service) {
      await service.start()
      await service.close()
      await shared.close()
    }
  }

  func check(_ read: HTTPReading.Request) throws {
    let head = read.head
    var headers = head.headers
    headers["authorization"] = "Bearer \(secret)"
    let request = HTTPRequest(
      method: head.method, path: head.path, segments: head.segments, query: head.query,
      headers: headers, body: read.body)
    let screening = turns.run(on: loop, service) { [service] in await service.screen(request) }
    switch screening {
    case nil: try hold(false, "a head that is not judged")
    case .refuse(let response): try check(response, isRefusal: true)
    // The lines of an import are a target of their own.
    case .stream: return
    case .withoutBody:
      if read.body.isEmpty { try check(answer(request), isRefusal: false) }
    case .read(let maximumBytes):
      if read.body.count <= maximumBytes { try check(answer(request), isRefusal: false) }
    }
  }

  private func answer(_ request: HTTPRequest) -> HTTPResponse? {
    turns.run(on: loop, service) { [service] in await service.answer(request) }
  }

  private func check(_ response: HTTPResponse?, isRefusal: Bool) throws {
    guard let response else { throw BrokenProperty(description: "no answer") }
    let known = [200, 202, 204, 400, 404, 405, 409, 413, 415, 422, 503]
    try hold(known.contains(response.status), "the status \(response.status): \(response.body)")
    try hold(response.canBeSent, "an answer that cannot be written: \(response.headers)")
    guard response.status >= 400 else { return }
    let problem = try JSONValue.parse(response.body).object
    try hold(
      problem?["status"]?.integer == Int64(response.status)
        && problem?["detail"]?.string?.isEmpty == false && problem?["type"]?.string != nil,
      "a problem without words: \(String(decoding: response.body, as: UTF8.self))")
  }
}

/// Every server refuses.
private final class NoNetwork: Network {
  func connect(
    to endpoint: Endpoint, from loop: EventLoop,
    _ whenOver: @escaping (Result<any StreamSocket, TransportError>) -> Void
  ) {
    loop.schedule(after: .milliseconds(1)) {
      whenOver(.failure(TransportError(.unreachable, "there is no network")))
    }
  }

  func listen(
    at endpoint: Endpoint, on loop: EventLoop, _ accept: @escaping (any StreamSocket) -> Void
  ) throws(TransportError) -> any NetworkListening {
    throw TransportError(.unreachable, "there is no network")
  }
}

private struct NoSink: LogSink {
  func write(_ line: UnsafeRawBufferPointer) -> Bool { true }
}
