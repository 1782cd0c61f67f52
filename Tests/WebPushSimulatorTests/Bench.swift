import EventLoop
import Fixtures
import Glibc
import TLS
import Transport
import WebPushSimulator

/// Hosts of each service.
enum Host {
  static let google = "fcm.googleapis.com"
  static let mozilla = "updates.push.services.mozilla.com"
  static let apple = "web.push.apple.com"
  static let windows = "wns2-by3p.notify.windows.com"
  static let other = "push.test"
  static let http1 = WebPushSimulatorOptions.http1Host
  static let all = [google, mozilla, apple, windows, other]
}

/// Changes of a test to the simulator's options.
struct Setup {
  let change: (inout WebPushSimulatorOptions) -> Void
}

func changed(_ change: @escaping (inout WebPushSimulatorOptions) -> Void) -> Setup {
  Setup(change: change)
}

/// A script of which only some members matter.
func scripted(_ change: @escaping (inout WebPushSimulatorScript) -> Void) -> Setup {
  changed { change(&$0.script) }
}

/// A simulator and clients connected to it; taken down after `body`.
func withSimulator(
  _ setup: Setup = Setup { _ in },
  _ body: @Sendable (isolated LoopActor, Bench) async throws -> Void
) async throws {
  let directory = try makeDirectory()
  var options = WebPushSimulatorOptions(directory: directory)
  setup.change(&options)
  let simulator = WebPushSimulator(options: options, log: { _ in })
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
  for name in ["ca.pem", "server.pem", "server.key", "server.hosts", "control.token", "vapid.pem"] {
    unlink("\(directory)/\(name)")
  }
  rmdir(directory)
  try result.get()
}

final class Bench {
  let simulator: WebPushSimulator
  let address: WebPushSimulatorAddress
  let sender: Sender
  private let loop: EventLoop
  private var clients: [HTTP2Client] = []

  init(simulator: WebPushSimulator, address: WebPushSimulatorAddress, loop: EventLoop) throws {
    self.simulator = simulator
    self.address = address
    self.loop = loop
    sender = try Sender()
  }

  func connect() async throws -> HTTP2Client {
    let client = HTTP2Client(loop)
    clients.append(client)
    try client.dial(
      Endpoint(host: address.host, port: address.port), authorityFile: address.authorityFile,
      assumedStreams: 100)
    await client.until { $0.isLost || !$0.streamLimits.isEmpty }
    return client
  }

  /// A client that speaks HTTP/1.1, and blocks.
  func connectHTTP1(
    _ host: String = "127.0.0.1", alpn: [String] = ["http/1.1"]
  ) throws -> RawClient {
    let trust = try TLSClientContext(caFile: address.authorityFile, alpn: alpn)
    return try RawClient(port: address.port, tls: trust, host: host)
  }

  func closeAll() { for client in clients { client.close() } }
}

struct SystemError: Error { let number: Int32 }

func makeDirectory() throws -> String {
  var template = Array("/tmp/webpush-simulator-test-XXXXXX".utf8CString)
  guard mkdtemp(&template) != nil else { throw SystemError(number: errno) }
  return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
}
