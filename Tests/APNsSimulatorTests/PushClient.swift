import APNsSimulator
import EventLoop
import Fixtures
import HTTP2
import TLS
import Telemetry
import Text
import Transport

typealias Reply = HTTP2Reply
typealias PushClient = HTTP2Client

/// A push as Apple wants it, to be spoilt by tests.
struct Request: Sendable {
  var method = "POST"
  var path = "/3/device/" + String(repeating: "ab", count: 32)
  var fields: [(String, String)] = [
    ("apns-topic", "com.example.live"), ("apns-push-type", "alert"), ("apns-priority", "10"),
    ("apns-id", "123e4567-e89b-12d3-a456-42661417400a"),
  ]
  var body = Array(#"{"aps":{"alert":"hello"}}"#.utf8)

  static let controlToken = "c0ffee"

  /// To the simulator itself.
  static func control(_ method: String, _ path: String, _ body: String = "") -> Request {
    var request = Request()
    request.method = method
    request.path = path
    request.fields = [("simulator-token", controlToken)]
    request.body = Array(body.utf8)
    return request
  }

  init() {}
  init(token: String) { path = "/3/device/" + token }

  mutating func set(_ name: String, _ value: String?) {
    fields.removeAll { $0.0 == name }
    if let value { fields.append((name, value)) }
  }
}

extension PushClient {
  func connect(
    _ address: APNsSimulatorAddress, assumedStreams: Int = 1, certificate: String? = nil
  ) async throws {
    let shown = try certificate.map {
      try ClientCertificate(file: Array($0.utf8), passphrase: nil)
    }
    try dial(
      Endpoint(host: address.host, port: address.port), authorityFile: address.authorityFile,
      certificate: shown, assumedStreams: assumedStreams)
    await until { $0.isLost || ($0.isOpen && !$0.streamLimits.isEmpty) }
  }

  /// Starts a request; `reply(to:)` waits for its end.
  func start(_ request: Request, authorization: String?) throws -> Int {
    var fields: [(name: String, value: String, indexing: HTTP2Indexing)] = [
      (":method", request.method, .indexed), (":scheme", "https", .indexed),
      (":authority", "localhost", .indexed), (":path", request.path, .never),
    ]
    if let authorization { fields.append(("authorization", authorization, .never)) }
    for field in request.fields { fields.append((field.0, field.1, .never)) }
    return try start(fields, body: request.body)
  }

  func send(_ request: Request, authorization: String?) async throws -> Reply {
    await reply(to: try start(request, authorization: authorization))
  }
}

/// What a test changes in the simulator's options.
struct Setup {
  let change: (inout APNsSimulatorOptions) -> Void
}

func changed(_ change: @escaping (inout APNsSimulatorOptions) -> Void) -> Setup {
  Setup(change: change)
}

/// A simulator, a client connected to it, and a key that it trusts; taken down after `body`.
func withSimulator(
  _ setup: Setup = Setup { _ in },
  _ body: @Sendable (isolated LoopActor, Bench) async throws -> Void
) async throws {
  let directory = try makeDirectory()
  let key = try ES256Key.generate()
  var options = APNsSimulatorOptions(directory: directory)
  options.providerKeys = [
    .init(keyID: "KEY1234567", teamID: "TEAM123456", publicKeyPEM: key.publicKeyPEM)
  ]
  options.controlToken = Request.controlToken
  setup.change(&options)
  let simulator = APNsSimulator(options: options, log: { _ in })
  let address = try await simulator.start()
  let loop = EventLoop(name: "test client")
  let result: Result<Void, any Error> = await LoopActor(loop).run { actor in
    let bench = Bench(simulator: simulator, address: address, key: key, loop: loop)
    do {
      try await body(actor, bench)
      bench.closeAll()
      return .success(())
    } catch {
      bench.closeAll()
      return .failure(error)
    }
  }
  await simulator.stop()
  loop.stop()
  removeDirectory(directory)
  try result.get()
}

final class Bench {
  let simulator: APNsSimulator
  let address: APNsSimulatorAddress
  let key: ES256Key
  private let loop: EventLoop
  private var clients: [PushClient] = []

  init(simulator: APNsSimulator, address: APNsSimulatorAddress, key: ES256Key, loop: EventLoop) {
    self.simulator = simulator
    self.address = address
    self.key = key
    self.loop = loop
  }

  /// - Parameter certificate: PEM, with its key: shown to the simulator.
  func connect(
    assumedStreams: Int = 1, certificate: String? = nil
  ) async throws -> PushClient {
    let client = PushClient(loop)
    clients.append(client)
    try await client.connect(
      address, assumedStreams: assumedStreams, certificate: certificate)
    return client
  }

  func closeAll() { for client in clients { client.close() } }

  /// `bearer <jwt>`, issued `age` seconds ago.
  func authorization(
    age: Int64 = 0, keyID: String = "KEY1234567", teamID: String = "TEAM123456",
    algorithm: String = "ES256", key other: ES256Key? = nil, issuedAt exactly: Int64? = nil
  ) throws -> String {
    let issuedAt = exactly ?? WallClock.nowMicroseconds() / 1_000_000 - age
    let header = Base64URL.encode(Array(#"{"alg":"\#(algorithm)","kid":"\#(keyID)"}"#.utf8))
    let claims = Base64URL.encode(Array(#"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#.utf8))
    let message = "\(header).\(claims)"
    let signature = try (other ?? key).sign(Array(message.utf8))
    return "bearer \(message).\(Base64URL.encode(signature))"
  }
}
