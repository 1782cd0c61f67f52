import EventLoop
import Redis
import Transport

/// A Redis that answers each command with what a test says, in RESP. Confined to its loop.
final class FakeRedis: ConnectionDelegate {
  private var listener: Listener?
  private var open: [ObjectIdentifier: (connection: Connection, bytes: [UInt8])] = [:]
  /// Nil: the answer of a healthy, empty server.
  private let answer: ([String]) -> String?

  var port: Int { listener?.port ?? 0 }

  init(loop: EventLoop, answer: @escaping ([String]) -> String?) throws {
    self.answer = answer
    listener = try Listener(host: "127.0.0.1", port: 0, tls: nil, loop: loop) { [weak self] in
      self?.open[ObjectIdentifier($0)] = ($0, [])
      return self
    }
  }

  func close() {
    listener?.close()
    for (connection, _) in open.values { connection.close() }
    open = [:]
  }

  func connectionOpened(_ connection: Connection) {}
  func connectionDrained(_ connection: Connection) {}
  func connectionClosed(_ connection: Connection, error: TransportError?) {
    open[ObjectIdentifier(connection)] = nil
  }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    let key = ObjectIdentifier(connection)
    var waiting = (open[key]?.bytes ?? []) + Array(bytes)
    while let (command, length) = Self.command(waiting) {
      waiting.removeFirst(length)
      let reply = answer(command) ?? Self.healthy(command)
      Array(reply.utf8).withUnsafeBytes { connection.write($0) }
    }
    open[key]?.bytes = waiting
  }

  private static func healthy(_ command: [String]) -> String {
    switch command.first {
    case "PING": "+PONG\r\n"
    case "ROLE": "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
    case "SCARD": ":0\r\n"
    case "SMEMBERS": "*0\r\n"
    case "SSCAN": "*2\r\n$1\r\n0\r\n*0\r\n"
    case "HMGET":
      "*\(command.count - 2)\r\n" + String(repeating: "$-1\r\n", count: command.count - 2)
    default: "-ERR unknown command\r\n"
    }
  }

  /// The first whole command and its length in bytes.
  private static func command(_ bytes: [UInt8]) -> ([String], Int)? {
    var position = 0
    func line() -> Int? {
      guard let end = bytes[position...].firstIndex(of: 0x0D), end + 1 < bytes.count else {
        return nil
      }
      defer { position = end + 2 }
      return Int(String(decoding: bytes[(position + 1)..<end], as: UTF8.self))
    }
    guard !bytes.isEmpty, let count = line() else { return nil }
    var arguments: [String] = []
    for _ in 0..<count {
      guard position < bytes.count, let length = line(), position + length + 2 <= bytes.count
      else { return nil }
      arguments.append(String(decoding: bytes[position..<position + length], as: UTF8.self))
      position += length + 2
    }
    return (arguments, position)
  }
}

/// Runs `body` with a client of a server that answers so.
func withFakeRedis(
  _ answer: @escaping @Sendable ([String]) -> String?,
  _ body: @Sendable (RedisClient) async throws -> Void
) async throws {
  let loop = EventLoop(name: "fake")
  defer { loop.stop() }
  try await LoopActor(loop).run { _ in
    let server = try FakeRedis(loop: loop, answer: answer)
    defer { server.close() }
    let options = RedisOptions(
      port: server.port, commandTimeout: .seconds(5), reconnectMinimum: .milliseconds(5),
      reconnectMaximum: .milliseconds(50))
    let client = RedisClient(options: options, loop: loop, log: { _ in })
    client.start()
    defer { client.close() }
    try await body(client)
  }
}
