import CMicrohttpd
import EventLoop

/// Bodies that are read while they come, and how a connection waits.
extension HTTPDaemon {
  /// For so long a client that was answered in the middle of its body may go on sending, unheard:
  /// it reads no answer before.
  static let readPast: Duration = .seconds(2)

  /// What must come of a long body within `exchangeTimeout`, unless it is we who hold it up: who
  /// drips keeps no place.
  static let leastBytes = 4 << 10

  /// Its answer may come before the end of its body, or in the middle of it.
  func handOn(_ exchange: HTTPExchange, _ connection: OpaquePointer, _ state: HTTPConnection) {
    guard let stream = exchange.stream else { return }
    let number = exchange.number
    state.lastMoment = EventLoop.monotonicNanoseconds() &+ stream.limit.nanoseconds
    setDeadline(connection, state)
    stream.whenThereIsRoom = { [weak self] in
      guard let self, let state = connections[connection], let exchange = state.exchange,
        exchange.number == number, exchange.isSuspended
      else { return }
      setDeadline(connection, state)
      resume(connection, exchange)
    }
    waiting[number] = connection
    whenComplete(number, exchange.request)
  }

  /// A piece of such a body, or its end.
  func received(
    _ stream: HTTPBodyStream, _ connection: OpaquePointer, _ state: HTTPConnection,
    _ bytes: UnsafePointer<CChar>?, _ count: UnsafeMutablePointer<Int>?
  ) -> MHD_Result {
    guard let exchange = state.exchange else { return .NO }
    guard let count, count.pointee > 0 else {
      if let response = exchange.response { return send(response, on: connection) }
      guard daemon != nil else { return send(stopping, on: connection) }
      stream.end(.end)
      setDeadline(connection, state, after: stream.limit)
      suspend(connection, exchange)
      return .YES
    }
    guard daemon != nil else { return .NO }
    if exchange.response == nil {
      guard !stream.isFull else {
        // It is we who are slow.
        setDeadline(connection, state, after: stream.limit)
        suspend(connection, exchange)
        return .YES
      }
      stream.append(UnsafeRawBufferPointer(start: bytes, count: count.pointee))
      state.unhurriedBytes += count.pointee
      if state.unhurriedBytes >= Self.leastBytes {
        state.unhurriedBytes = 0
        setDeadline(connection, state)
      }
    }
    count.pointee = 0
    return .YES
  }

  /// libmicrohttpd does nothing on it until it is resumed.
  func suspend(_ connection: OpaquePointer, _ exchange: HTTPExchange) {
    MHD_suspend_connection(connection)
    exchange.isSuspended = true
  }

  /// libmicrohttpd runs once at the end of the turn, for all that the turn resumes: a run for each
  /// costs more, and wakes clients of the same machine one by one.
  func resume(_ connection: OpaquePointer, _ exchange: HTTPExchange) {
    exchange.isSuspended = false
    MHD_resume_connection(connection)
    guard !isRunDue else { return }
    isRunDue = true
    loop.atTurnEnd { [weak self] in
      self?.isRunDue = false
      self?.run()
    }
  }

  /// - Parameter wait: nil: as long as an exchange may take.
  func setDeadline(
    _ connection: OpaquePointer, _ state: HTTPConnection, after wait: Duration? = nil
  ) {
    var wait = wait ?? options.exchangeTimeout
    if let last = state.lastMoment {
      let now = EventLoop.monotonicNanoseconds()
      wait = min(wait, .nanoseconds(Int64(clamping: last > now ? last - now : 0)))
    }
    state.deadline?.cancel()
    state.deadline = loop.schedule(after: wait) { [weak self] in self?.close(connection) }
  }

  /// A piece of a body that is kept; what is too large, or one too many, has its answer then.
  func append(_ bytes: UnsafeRawBufferPointer, to exchange: HTTPExchange) {
    let held = exchange.bodyBytes
    exchange.append(bytes)
    bodyBytes += exchange.bodyBytes - held
    if exchange.isTooLarge {
      exchange.response = options.refusal(413, exchange.whyTooLarge)
    } else if let limit = options.maximumBodiesBytes, bodyBytes > limit {
      exchange.response = options.refusal(503, "too many large requests at once: come again")
    }
  }
}
