import EventLoop
import FCMSimulator
import Fixtures
import Glibc
import HTTP2
import JSON
import TLS
import Telemetry
import Text
import Transport

typealias Reply = HTTP2Reply
typealias FCMClient = HTTP2Client

extension Reply {
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
  /// Of a control request.
  var controlToken: String?
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

extension FCMClient {
  /// Begins to connect; requests may be started at once.
  func dial(_ address: FCMSimulatorAddress, assumedStreams: Int) throws {
    try dial(
      Endpoint(host: address.host, port: address.port), authorityFile: address.authorityFile,
      assumedStreams: assumedStreams)
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
    if let token = request.controlToken { fields.append(("simulator-token", token, .never)) }
    return try start(fields, body: request.body)
  }

  func send(_ request: Request) async throws -> Reply { await reply(to: try start(request)) }
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
  removeDirectory(directory)
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

func removeDirectory(_ path: String) {
  for name in [
    "ca.pem", "server.pem", "server.key", "server.hosts", "service-account.json",
    "service-account.pub.pem", "control.token",
  ] {
    unlink("\(path)/\(name)")
  }
  rmdir(path)
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
