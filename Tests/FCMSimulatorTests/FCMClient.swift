import EventLoop
import FCMSimulator
import Glibc
import HTTP2
import JSON
import TLS
import Telemetry
import Text
import Transport

struct Reply: Sendable {
  var status = 0
  var headers: [String: String] = [:]
  var body: [UInt8] = []
  /// The stream's error code; nil: the connection was lost first.
  var closed: UInt32?

  var text: String { String(decoding: body, as: UTF8.self) }

  private var error: JSONObject? { (try? JSONValue.parse(body))?.object?["error"]?.object }

  var details: [JSONObject] { error?["details"]?.array?.compactMap(\.object) ?? [] }

  private func detail(_ type: String) -> JSONObject? {
    details.first { $0["@type"]?.string?.hasSuffix(type) == true }
  }

  /// `404 NOT_FOUND UNREGISTERED`; a dash is for what is not there.
  var verdict: String {
    let code = detail("google.firebase.fcm.v1.FcmError")?["errorCode"]?.string
    return "\(status) \(error?["status"]?.string ?? "-") \(code ?? "-")"
  }

  /// Of BadRequest.
  var field: String? {
    detail("google.rpc.BadRequest")?["fieldViolations"]?.array?.first?.object?["field"]?.string
  }

  var quotaSubject: String? {
    detail("google.rpc.QuotaFailure")?["violations"]?.array?.first?.object?["subject"]?.string
  }

  var reason: String? { detail("google.rpc.ErrorInfo")?["reason"]?.string }
}

struct Request: Sendable {
  var method = "POST"
  var path = "/v1/projects/simulated-project/messages:send"
  var contentType = "application/json"
  var authorization: String?
  var body: [UInt8]

  init(_ body: String, authorization: String?) {
    self.body = Array(body.utf8)
    self.authorization = authorization
  }

  /// A message to a registration token.
  init(token: String, authorization: String?) {
    self.init(
      #"{"message":{"token":"\#(token)","data":{"stream":"1"}}}"#, authorization: authorization)
  }

  static func assertion(_ assertion: String) -> Request {
    let grantType = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
    var request = Request(
      "grant_type=\(grantType)&assertion=\(assertion)", authorization: nil)
    request.path = "/token"
    request.contentType = "application/x-www-form-urlencoded"
    return request
  }
}

/// A small HTTP/2 client on a loop; every method is called on it.
final class FCMClient {
  private let loop: EventLoop
  private var connection: Connection?
  private var session: HTTP2ClientSession?
  private var replies: [Int: Reply] = [:]
  private var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
  private var watchers: [CheckedContinuation<Void, Never>] = []
  private var bodies: [UnsafeMutableRawBufferPointer] = []
  private var blocks: [HTTP2FieldBlock] = []
  private(set) var isOpen = false
  private(set) var isLost = false
  private(set) var goAways: [HTTP2GoAway] = []
  private(set) var streamLimits: [Int] = []

  init(_ loop: EventLoop) { self.loop = loop }

  deinit { for body in bodies { body.deallocate() } }

  /// Begins to connect; requests may be started at once.
  func dial(_ address: FCMSimulatorAddress, assumedStreams: Int) throws {
    let trust = try TLSClientContext(caFile: address.authorityFile, alpn: ["h2"])
    var options = HTTP2ClientOptions()
    options.assumedMaximumStreams = assumedStreams
    options.maximumSlots = 200_000
    options.keptFields = .all
    options.keptBodyBytes = 1 << 20
    session = try HTTP2ClientSession(options: options)
    let made = Connection(
      to: Endpoint(host: address.host, port: address.port), tls: trust,
      options: TransportOptions(), loop: loop, delegate: self)
    connection = made
    made.connect()
  }

  func close() {
    connection?.close()
    session?.abandon()
    connection = nil
    session = nil
  }

  /// Starts a request; `reply(to:)` waits for its end.
  func start(_ request: Request) throws -> Int {
    var fields: [(name: String, value: String, indexing: HTTP2Indexing)] = [
      (":method", request.method, .indexed), (":scheme", "https", .indexed),
      (":authority", "localhost", .indexed), (":path", request.path, .indexed),
      ("content-type", request.contentType, .indexed),
    ]
    if let authorization = request.authorization {
      fields.append(("authorization", authorization, .indexed))
    }
    let block = try HTTP2FieldBlock(fields)
    let slot = bodies.count
    let body = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(request.body.count, 1), alignment: 1)
    body.copyBytes(from: request.body)
    bodies.append(body)
    blocks.append(block)
    replies[slot] = Reply()
    guard let session else { return slot }
    _ = try session.submit(
      block, body: UnsafeRawBufferPointer(rebasing: body[0..<request.body.count]), slot: slot)
    if isOpen { flush() }
    return slot
  }

  func reply(to slot: Int) async -> Reply {
    if !isLost, replies[slot]?.closed == nil {
      await withCheckedContinuation { waiting[slot] = $0 }
    }
    return replies[slot] ?? Reply()
  }

  func send(_ request: Request) async throws -> Reply { await reply(to: try start(request)) }

  /// Waits until something has made `condition` true.
  func until(_ condition: (FCMClient) -> Bool) async {
    while !condition(self) { await withCheckedContinuation { watchers.append($0) } }
  }

  /// Answers that are still missing.
  var unanswered: Int { replies.values.count { $0.closed == nil } }

  private func flush() {
    do {
      while let bytes = try session?.nextOutput() { connection?.write(bytes) }
    } catch {
      lose()
    }
  }

  private func hear() {
    guard let session else { return }
    if session.takeSettingsChange() { streamLimits.append(session.remoteMaxConcurrentStreams) }
    if let goAway = session.takeGoAway() { goAways.append(goAway) }
    while let ended = session.nextEnded() {
      replies[ended.slot]?.status = ended.status
      replies[ended.slot]?.body = ended.content?.body ?? []
      for field in ended.content?.fields ?? [] {
        let name = String(decoding: field.name, as: UTF8.self)
        replies[ended.slot]?.headers[name] = String(decoding: field.value, as: UTF8.self)
      }
      replies[ended.slot]?.closed = ended.errorCode
      waiting.removeValue(forKey: ended.slot)?.resume()
    }
  }

  private func lose() {
    isLost = true
    connection?.close()
    session?.abandon()
    for continuation in waiting.values { continuation.resume() }
    waiting = [:]
    changed()
  }

  private func changed() {
    let waking = watchers
    watchers = []
    for watcher in waking { watcher.resume() }
  }
}

extension FCMClient: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) {
    isOpen = true
    flush()
    changed()
  }
  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    do {
      try session?.receive(bytes)
      hear()
      flush()
    } catch {
      lose()
    }
    changed()
  }
  func connectionDrained(_ connection: Connection) {}
  func connectionClosed(_ connection: Connection, error: TransportError?) { lose() }
}

/// Changes of a test to the simulator's options.
struct Setup {
  let change: (inout FCMSimulatorOptions) -> Void
}

func changed(_ change: @escaping (inout FCMSimulatorOptions) -> Void) -> Setup {
  Setup(change: change)
}

/// A script of which only some members matter.
func scripted(_ change: @escaping (inout FCMSimulatorScript) -> Void) -> Setup {
  changed { change(&$0.script) }
}

/// The key of every service account here: to make one takes long.
let accountKey = Result { try RS256KeyPair.generate() }

/// A simulator and clients connected to it; taken down after `body`.
func withSimulator(
  _ setup: Setup = Setup { _ in },
  _ body: @Sendable (isolated LoopActor, Bench) async throws -> Void
) async throws {
  let directory = try makeDirectory()
  var options = FCMSimulatorOptions(directory: directory)
  options.key = try accountKey.get()
  setup.change(&options)
  let simulator = FCMSimulator(options: options, log: { _ in })
  let address = try await simulator.start()
  let loop = EventLoop(name: "test client")
  let result: Result<Void, any Error> = await LoopActor(loop).run { actor in
    do {
      let bench = try Bench(simulator: simulator, address: address, loop: loop)
      defer { bench.closeAll() }
      try await body(actor, bench)
      return .success(())
    } catch {
      return .failure(error)
    }
  }
  await simulator.stop()
  loop.stop()
  for name in ["ca.pem", "server.pem", "server.key", "service-account.json"] {
    unlink("\(directory)/\(name)")
  }
  rmdir(directory)
  try result.get()
}

final class Bench {
  let simulator: FCMSimulator
  let address: FCMSimulatorAddress
  let account: Account
  private let loop: EventLoop
  private var clients: [FCMClient] = []

  init(simulator: FCMSimulator, address: FCMSimulatorAddress, loop: EventLoop) throws {
    self.simulator = simulator
    self.address = address
    self.loop = loop
    account = try Account(file: address.serviceAccountFile)
  }

  func dial(assumedStreams: Int = 100) throws -> FCMClient {
    let client = FCMClient(loop)
    clients.append(client)
    try client.dial(address, assumedStreams: assumedStreams)
    return client
  }

  func connect() async throws -> FCMClient {
    let client = try dial()
    await client.until { $0.isLost || !$0.streamLimits.isEmpty }
    return client
  }

  /// A client, and the `authorization` that it was given.
  func authorized() async throws -> (client: FCMClient, authorization: String) {
    let client = try await connect()
    return (client, try await authorize(client))
  }

  func authorize(_ client: FCMClient) async throws -> String {
    let reply = try await client.send(.assertion(try account.assertion()))
    guard let token = try JSONValue.parse(reply.body).object?["access_token"]?.string else {
      throw SystemError(number: Int32(reply.status))
    }
    return "Bearer \(token)"
  }

  func closeAll() { for client in clients { client.close() } }
}

/// A service account as its file names it.
struct Account {
  let members: JSONObject
  private let key: RS256Key

  init(file: String) throws {
    guard let members = try JSONValue.parse(readFile(file)).object,
      let pem = members["private_key"]?.string
    else { throw SystemError(number: 0) }
    self.members = members
    key = try RS256Key(pem: pem)
  }

  var email: String { members["client_email"]?.string ?? "" }

  /// A JWT that the token endpoint takes, but for what `change` does to its claims.
  func assertion(
    header: String? = nil, key other: RS256Key? = nil, now: Int64? = nil,
    _ change: (inout JSONObject) -> Void = { _ in }
  ) throws -> String {
    let issuedAt = now ?? WallClock.nowMicroseconds() / 1_000_000
    var claims = JSONObject([
      ("iss", .string(email)),
      ("scope", "https://www.googleapis.com/auth/firebase.messaging"),
      ("aud", "https://oauth2.googleapis.com/token"),
      ("iat", .integer(issuedAt)), ("exp", .integer(issuedAt + 3600)),
    ])
    change(&claims)
    let keyID = members["private_key_id"]?.string ?? ""
    let head = header ?? #"{"alg":"RS256","typ":"JWT","kid":"\#(keyID)"}"#
    let message =
      Base64URL.encode(Array(head.utf8)) + "."
      + Base64URL.encode(JSONText.bytes(.object(claims)))
    let signature = try (other ?? key).sign(Array(message.utf8))
    return "\(message).\(Base64URL.encode(signature))"
  }
}

struct SystemError: Error { let number: Int32 }

func makeDirectory() throws -> String {
  var template = Array("/tmp/fcm-simulator-test-XXXXXX".utf8CString)
  guard mkdtemp(&template) != nil else { throw SystemError(number: errno) }
  return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
}

func readFile(_ path: String) throws -> [UInt8] {
  let descriptor = open(path, O_RDONLY)
  guard descriptor >= 0 else { throw SystemError(number: errno) }
  defer { close(descriptor) }
  var bytes = [UInt8](repeating: 0, count: 65_536)
  let count = read(descriptor, &bytes, bytes.count)
  guard count >= 0 else { throw SystemError(number: errno) }
  return Array(bytes[0..<count])
}
