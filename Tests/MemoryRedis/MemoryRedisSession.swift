/// One client's connection to a server in memory. Bytes go in by `receive`, which answers the bytes
/// that come out.
package final class MemoryRedisSession {
  private struct Waiting {
    let replicas: Int64
    let offset: Int64
    /// Microseconds since 1970; nil: for ever.
    let end: Int64?
  }

  private weak var server: MemoryRedis?
  private let number: Int64
  private var parser = RequestParser()
  private var output: [UInt8] = []
  private var user: ByteString = "default"
  private var hasAuthenticated = false
  private var clientName: ByteString?
  /// Of the last command that wrote.
  private var offset: Int64 = 0
  private var waiting: Waiting?
  /// The server has closed the connection. What came out before is still to be read.
  package private(set) var isClosed = false
  /// Called when a session that waits for replicas has what it waits for: `resume` is due.
  package var whenReady: (() -> Void)?

  init(of server: MemoryRedis, number: Int64) {
    self.server = server
    self.number = number
    offset = server.offset
  }

  /// Until when the session waits for replicas at most; nil: it does not wait, or for ever.
  package var deadline: Int64? { waiting?.end }

  /// - Returns: what the server sends at once.
  package func receive(_ bytes: some Sequence<UInt8>, now: Int64) -> [UInt8] {
    guard !isClosed else { return takeOutput() }
    parser.append(bytes)
    return resume(now: now)
  }

  /// Goes on where the session waits for replicas, if they have done what it waits for, or its
  /// time is up.
  /// - Returns: what the server sends.
  package func resume(now: Int64) -> [UInt8] {
    if let waiting, isOver(waiting, now: now) {
      self.waiting = nil
      StoreReply.integer(acknowledged(waiting.offset)).write(to: &output)
    }
    while waiting == nil, !isClosed {
      do throws(CommandError) {
        guard let command = try parser.next() else { break }
        if !command.isEmpty { execute(command, now: now) }
      } catch {
        refuse(error.text)
      }
    }
    return takeOutput()
  }

  private func takeOutput() -> [UInt8] {
    defer { output = [] }
    return output
  }

  package func close() {
    isClosed = true
    waiting = nil
  }

  func refuse(_ why: ByteString) {
    StoreReply.error(why).write(to: &output)
    close()
  }

  // MARK: commands

  private func execute(_ command: [ByteString], now: Int64) {
    guard let server else { return close() }
    let store = server.store
    store.server = self
    let reply = store.execute(command, now: now, access: access(server))
    store.server = nil
    let before = server.offset
    server.propagate()
    if server.offset != before { offset = server.offset }
    if server.losesReply?(command, reply) == true {
      output = []
      return close()
    }
    guard waiting == nil else { return startWaiting(now: now) }
    reply.write(to: &output)
  }

  private func access(_ server: MemoryRedis) -> RedisAccess {
    var access = RedisAccess()
    access.denied = server.users[user]?.denied ?? []
    access.isAuthenticated = hasAuthenticated || server.users["default"]?.password == nil
    access.isLoading = server.isLoading
    return access
  }

  // MARK: WAIT

  private func wait(_ call: CommandCall) throws(CommandError) -> StoreReply {
    guard let server else { return .null }
    if server.isReplica {
      throw CommandError(
        "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 "
          + "if a replica is configured to be writable (which is not the default) writes to "
          + "replicas are just local and are not propagated.")
    }
    let replicas = try call.integer(1)
    let (time, isOver) = try call.integer(2).multipliedReportingOverflow(by: 1000)
    guard !isOver else { throw CommandError("ERR timeout is out of range") }
    guard time >= 0 else { throw CommandError("ERR timeout is negative") }
    waiting = Waiting(
      replicas: replicas, offset: offset, end: time == 0 ? nil : server.store.now + time)
    return .null
  }

  private func startWaiting(now: Int64) {
    guard let waiting, isOver(waiting, now: now) else { return }
    self.waiting = nil
    StoreReply.integer(acknowledged(waiting.offset)).write(to: &output)
  }

  private func isOver(_ waiting: Waiting, now: Int64) -> Bool {
    acknowledged(waiting.offset) >= waiting.replicas || waiting.end.map { now >= $0 } ?? false
  }

  private func acknowledged(_ offset: Int64) -> Int64 {
    Int64(server?.links.count { $0.acknowledged >= offset } ?? 0)
  }

  func look() {
    if let waiting, acknowledged(waiting.offset) >= waiting.replicas { whenReady?() }
  }
}

extension MemoryRedisSession: ServerAnswers {
  func answer(_ call: CommandCall) throws(CommandError) -> StoreReply {
    guard let server else { return .null }
    switch call.word(0) {
    case "auth": return try authenticate(call, server)
    case "client": return try client(call)
    case "config": return server.configuration(call.words.dropFirst(2))
    case "info": return .bulk(server.information(call.words.dropFirst()))
    case "role": return server.roleReply
    case "wait": return try wait(call)
    default:
      guard try call.integer(1) == 0 else { throw CommandError("ERR DB index is out of range") }
      return .ok
    }
  }

  private func authenticate(
    _ call: CommandCall, _ server: MemoryRedis
  ) throws(CommandError) -> StoreReply {
    guard call.count <= 3 else { throw .syntax }
    let name = call.count == 3 ? call[1] : "default"
    let known = server.users[name]
    if call.count == 2, known?.password == nil {
      throw CommandError(
        "ERR AUTH <password> called without any password configured for the default user. "
          + "Are you sure your configuration is correct?")
    }
    guard let known, known.password == nil || known.password == call[call.count - 1] else {
      throw CommandError("WRONGPASS invalid username-password pair or user is disabled.")
    }
    user = name
    hasAuthenticated = true
    return .ok
  }

  private func client(_ call: CommandCall) throws(CommandError) -> StoreReply {
    switch call.word(1) {
    case "id": return .integer(number)
    case "getname": return .optional(clientName)
    default:
      guard call[2].bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        throw CommandError(
          "ERR Client names cannot contain spaces, newlines or special characters.")
      }
      clientName = call[2].count == 0 ? nil : call[2]
      return .ok
    }
  }
}
