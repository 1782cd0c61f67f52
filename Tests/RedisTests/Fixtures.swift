import EventLoop
import Testing
import Transport

@testable import Redis

/// An actor on a loop of its own with one client: what a lane is, for tests.
actor Lane {
  let loop: EventLoop
  let client: RedisClient
  private let lines = Lines()

  final class Lines { var all: [String] = [] }

  init(_ options: RedisOptions, separatesBulk: Bool = false) {
    loop = EventLoop(name: "redis-test")
    client = RedisClient(
      options: options, loop: loop, separatesBulk: separatesBulk,
      log: { [lines] in lines.all.append($0) })
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  var log: [String] { lines.all }
  var isConnected: Bool { client.isConnected }
  var lastFailure: RedisError? { client.lastFailure }

  func start() { client.start() }
  func close() { client.close() }

  /// One command; its reply as text, as redis-cli would show it.
  func call(_ arguments: String..., timeout: Duration? = nil) async throws -> String {
    let replies = try await client.execute(RedisPipeline(arguments), timeout: timeout)
    return shown(replies[0])
  }

  func code(_ arguments: String..., timeout: Duration? = nil) async -> RedisError.Code? {
    do throws(RedisError) {
      _ = try await client.execute(RedisPipeline(arguments), timeout: timeout)
      return nil
    } catch {
      return error.code
    }
  }

  func error(_ arguments: String..., timeout: Duration? = nil) async -> RedisError? {
    do throws(RedisError) {
      _ = try await client.execute(RedisPipeline(arguments), timeout: timeout)
      return nil
    } catch {
      return error
    }
  }

  /// The error of a command while `code` is why there is no connection. Known before the command
  /// is sent, however long that takes: what is known later is not in its error.
  func errorWhile(
    _ code: RedisError.Code, _ arguments: String..., timeout: Duration
  ) async -> RedisError? {
    #expect(await until { $0.lastFailure?.code == code })
    do throws(RedisError) {
      _ = try await client.execute(RedisPipeline(arguments), timeout: timeout)
      return nil
    } catch {
      return error
    }
  }

  func evaluate(
    _ script: RedisScript, keys: [String] = [], arguments: [String] = []
  ) async throws -> String {
    shown(try await client.evaluate(script, ScriptCall(keys: keys, positional: arguments))[0])
  }

  func run<T: Sendable>(
    _ body: @Sendable (isolated Lane) async throws -> T
  ) async throws -> T { try await body(self) }

  /// Looks at a condition every few milliseconds; false after a minute.
  func until(_ condition: @Sendable (isolated Lane) -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < deadline {
      if condition(self) { return true }
      await loop.wait(.milliseconds(3))
    }
    return condition(self)
  }

  func shown(_ reply: RedisReply) -> String {
    switch reply.kind {
    case .null: return "(nil)"
    case .integer: return "\(reply.integer ?? -1)"
    case .error: return reply.errorText ?? "?"
    case .string, .status: return reply.text ?? "?"
    case .array:
      return "[" + (0..<reply.count).map { shown(reply[$0]) }.joined(separator: " ") + "]"
    }
  }
}

/// Runs `body` with a started lane and ends the lane, its client and its loop.
func withLane<T: Sendable>(
  _ options: RedisOptions, separatesBulk: Bool = false, _ body: (Lane) async throws -> T
) async throws -> T {
  let lane = Lane(options, separatesBulk: separatesBulk)
  await lane.start()
  do {
    let result = try await body(lane)
    await lane.close()
    lane.loop.stop()
    return result
  } catch {
    await lane.close()
    lane.loop.stop()
    throw error
  }
}

/// Options for a server of a test: short waits, so that what fails does so soon.
func options(_ port: Int) -> RedisOptions {
  RedisOptions(
    port: port, connectTimeout: .seconds(30), commandTimeout: .seconds(30),
    reconnectMinimum: .milliseconds(5), reconnectMaximum: .milliseconds(50))
}

/// What a fake server says to PING and ROLE: it does not tell its role, and is not asked again.
let ready: FakeServer.Answer = "+PONG\r\n-NOPERM no ROLE for you\r\n"

/// A server that answers the n-th connection with the n-th script, and later ones with the last: a
/// piece of a script goes out when something is received, or as soon as `upon` was received;
/// `close` closes, also `{close}` at an answer's end, and `{port}` is its own.
final class FakeServer: ConnectionDelegate {
  private var listener: Listener?
  struct Answer: ExpressibleByStringLiteral {
    let text: String
    var upon = ""
    init(stringLiteral text: String) { self.text = text }
    init(_ text: String, upon: String = "") {
      self.text = text
      self.upon = upon
    }
  }

  private struct Client {
    let connection: Connection
    var answers: [Answer]
    var received = ""
  }

  private var scripts: [[Answer]]
  private var open: [Client] = []
  private(set) var accepted = 0

  var port: Int { listener?.port ?? 0 }

  init(_ scripts: [[Answer]], loop: EventLoop) throws {
    self.scripts = scripts
    listener = try Listener(host: "127.0.0.1", port: 0, tls: nil, loop: loop) { [weak self] in
      guard let self else { return nil }
      accepted += 1
      let script = self.scripts.count > 1 ? self.scripts.removeFirst() : self.scripts[0]
      open.append(Client(connection: $0, answers: script))
      return self
    }
  }

  func close() {
    listener?.close()
    for client in open { client.connection.close() }
    open = []
  }

  func connectionOpened(_ connection: Connection) {}

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    guard let index = open.firstIndex(where: { $0.connection === connection }) else { return }
    open[index].received += String(decoding: bytes, as: UTF8.self)
    guard let answer = open[index].answers.first,
      answer.upon.isEmpty || open[index].received.contains(answer.upon)
    else { return }
    open[index].answers.removeFirst()
    if answer.text == "close" {
      connection.close()
    } else {
      let text = answer.text.replacing("{port}", with: "\(port)")
      let said = text.replacing("{close}", with: "")
      Array(said.utf8).withUnsafeBytes { connection.write($0) }
      if said != text { connection.finishWriting() }
    }
  }

  func connectionDrained(_ connection: Connection) {}
  func connectionClosed(_ connection: Connection, error: TransportError?) {
    open.removeAll { $0.connection === connection }
  }
}
