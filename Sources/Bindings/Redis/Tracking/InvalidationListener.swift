import EventLoop
import Text
import Transport

/// A connection on which a server tells of writes: it tracks in broadcasting mode, and is
/// redirected to itself, so that tracking and hearing end together. One listener serves one
/// connection. Confined to its loop.
///
///     connecting ─opened─▶ greeting ─answered─▶ subscribing ─answered─▶ listening
///         └──────────────────┴───── lost ──────────┴────────────────────────┴─▶ over
final class InvalidationListener {
  enum Event {
    /// Every write from now on is told of, by the process with this run id.
    case listening(run: String)
    /// An array of keys.
    case written(RedisReply)
    case everythingWritten
    /// To a PING.
    case answered
    /// Once, at the end.
    case lost(RedisError)
  }

  private enum Stage { case connecting, greeting, subscribing, listening, over }

  /// Redis' channel for clients that are told by way of another.
  private static let channel = "__redis__:invalidate"
  /// Keys that were written in one turn of Redis' loop come in one message. A transaction or a
  /// script that writes to more than some ten thousand users ends the connection.
  private static let maximumMessageBytes = 1 << 20

  private let endpoint: Endpoint
  private let options: RedisOptions
  private let prefix: String
  private let loop: EventLoop
  private let log: (String) -> Void
  private var handshake: RedisHandshake
  private let pingCommand = RedisPipeline(["PING"])
  private var stage = Stage.connecting
  private var run = ""
  private var connection: Connection?
  private var reader: RedisReplyReader?
  private var timer: LoopTimer?
  private var isAsked = false
  private var tell: (Event) -> Void = { _ in }

  /// `options`: of the master's connection, which leads to `endpoint`.
  init(
    at endpoint: Endpoint, options: RedisOptions, prefix: String, loop: EventLoop,
    log: @escaping (String) -> Void
  ) {
    self.endpoint = endpoint
    self.prefix = prefix
    self.loop = loop
    self.log = log
    var options = options.at(endpoint)
    // Keys are told of whatever their database.
    options.database = 0
    options.clientName = options.clientName.map { $0 + "-invalidations" }
    self.options = options
    handshake = RedisHandshake(options, .inquiry)
  }

  deinit { if loop.isOnLoop { connection?.close() } }

  /// `tell` hears nothing more after `lost` or `close`.
  func start(_ tell: @escaping (Event) -> Void) {
    self.tell = tell
    let fresh = options.refreshed(log)
    handshake = RedisHandshake(fresh, .inquiry)
    let connection = fresh.connection(to: endpoint, loop, delegate: self)
    self.connection = connection
    connection.connect()
  }

  func close() {
    stage = .over
    tell = { _ in }
    timer?.cancel()
    connection?.close()
    connection = nil
  }

  /// One at a time. Pages wait for the answer: it has a quarter of the time that a command has.
  func ping() {
    guard stage == .listening else { return }
    isAsked = true
    startTimer(options.commandTimeout / 4)
    connection?.write(pingCommand.bytes)
  }

  // MARK: greeting

  private func send(_ pipeline: RedisPipeline, _ next: Stage) {
    stage = next
    startTimer(options.commandTimeout)
    reader?.expect(
      RedisReplies(
        expecting: pipeline.count, maximumBytes: RedisReplyReader.maximumLineBytes))
    withExtendedLifetime(pipeline) { connection?.write(pipeline.bytes) }
  }

  private func greet() {
    do throws(RedisError) {
      let reader = try RedisReplyReader()
      // What follows is taken before the next reply is read.
      reader.whenComplete = { [weak self] in self?.take($0) }
      self.reader = reader
    } catch {
      return lose(error)
    }
    let pipeline = RedisPipeline()
    handshake.append(to: pipeline)
    pipeline.append("INFO", "server")
    pipeline.append("CLIENT", "ID")
    send(pipeline, .greeting)
  }

  private func subscribe(_ replies: RedisReplies) {
    if let failure = handshake.verdict(on: replies) { return lose(failure) }
    guard let run = RedisRole.runIdentifier(replies[handshake.commands.count]),
      let identifier = replies[handshake.commands.count + 1].integer
    else { return lose(refusal(replies.firstError, "INFO server and CLIENT ID")) }
    self.run = run
    send(
      RedisPipeline(
        ["CLIENT", "TRACKING", "ON", "REDIRECT", "\(identifier)", "BCAST", "PREFIX", prefix],
        ["SUBSCRIBE", Self.channel]), .subscribing)
  }

  private func refusal(_ error: RedisErrorReply?, _ command: String) -> RedisError {
    RedisError(.refused, "it refuses \(command)", cause: error?.word)
  }

  // MARK: what comes

  /// - Returns: the replies that are read next.
  private func take(_ replies: RedisReplies) -> RedisReplies? {
    switch stage {
    case .connecting, .over: return nil
    case .greeting:
      subscribe(replies)
      return nil
    case .subscribing:
      guard replies.firstError == nil, replies[1].kind == .array else {
        lose(refusal(replies.firstError, "CLIENT TRACKING and SUBSCRIBE"))
        return nil
      }
      stage = .listening
      timer?.cancel()
      tell(.listening(run: run))
    case .listening: hear(replies[0])
    }
    guard stage == .listening else { return nil }
    return RedisReplies(expecting: 1, maximumBytes: Self.maximumMessageBytes)
  }

  private func hear(_ message: RedisReply) {
    switch message[0].text {
    case "message" where message[1].text == Self.channel && message[2].kind == .array:
      tell(.written(message[2]))
    case "message"
    where message[1].text == Self.channel && message.count == 3 && message[2].isNull:
      tell(.everythingWritten)
    case "pong" where isAsked:
      isAsked = false
      timer?.cancel()
      tell(.answered)
    default:
      lose(RedisError(.protocolError, "on a channel of writes comes what is no message"))
    }
  }

  private func startTimer(_ limit: Duration) {
    timer?.cancel()
    timer = loop.schedule(after: limit) { [weak self] in
      guard let self else { return }
      let time = DurationText.text(limit)
      lose(RedisError(.timeout, "it did not answer within \(time) where it tells of writes"))
    }
  }

  private func lose(_ error: RedisError) {
    let tell = tell
    close()
    tell(.lost(error))
  }
}

extension InvalidationListener: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) {
    if connection === self.connection { greet() }
  }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    guard connection === self.connection else { return }
    do throws(RedisError) {
      guard let reader else { throw RedisError(.protocolError, "Redis speaks before it is asked") }
      try reader.receive(bytes)
    } catch {
      // What is over already has closed the connection that the rest came on.
      guard stage != .over else { return }
      guard error.code == .replyTooLarge else { return lose(error) }
      let most = "\(Self.maximumMessageBytes >> 20) MiB of keys"
      lose(RedisError(error.code, "a script or transaction wrote to more than \(most) at once"))
    }
  }

  func connectionDrained(_ connection: Connection) {}

  func connectionClosed(_ connection: Connection, error: TransportError?) {
    guard connection === self.connection else { return }
    let cause = error.map { "\($0)" } ?? "the server closed it"
    lose(RedisError(.connectionLost, "the connection for writes broke", cause: cause))
  }
}
