import EventLoop
import Redis
import Transport

/// A Redis that answers each command with what a test says, in RESP. Confined to its loop.
final class FakeRedis: ConnectionDelegate {
  private var listener: Listener?
  private var open: [ObjectIdentifier: (connection: Connection, bytes: [UInt8])] = [:]
  private var subscribed: Set<ObjectIdentifier> = []
  /// Nil: the answer of a healthy, empty server. Of a connection that has subscribed, `PING` has a
  /// second word.
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
      if command.first == "SUBSCRIBE" { subscribed.insert(key) }
      let isPush = command == ["PING"] && subscribed.contains(key)
      let reply =
        answer(isPush ? ["PING", "subscribed"] : command)
        ?? (isPush ? "*2\r\n$4\r\npong\r\n$0\r\n\r\n" : Self.healthy(command))
      Array(reply.utf8).withUnsafeBytes { connection.write($0) }
    }
    open[key]?.bytes = waiting
  }

  /// Writes to these keys; nil: to all there are.
  func tell(_ keys: [String]?) {
    let list = keys.map { ["*\($0.count)"] + $0.flatMap { ["$\($0.utf8.count)", $0] } } ?? ["$-1"]
    let message =
      (["*3", "$7", "message", "$20", "__redis__:invalidate"] + list).joined(separator: "\r\n")
      + "\r\n"
    for key in subscribed {
      Array(message.utf8).withUnsafeBytes { open[key]?.connection.write($0) }
    }
  }

  /// Closes the connections that are told of writes.
  func closeSubscribed() {
    for key in subscribed { open.removeValue(forKey: key)?.connection.close() }
    subscribed = []
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
