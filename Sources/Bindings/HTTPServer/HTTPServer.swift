import EventLoop

/// An HTTP/1.1 server on a loop. Requests come whole, but for bodies that the screening wants to be
/// read while they come, and are answered whole, one after the other on each connection.
package actor HTTPServer {
  private let loop: EventLoop
  private var options: HTTPServerOptions
  private let screen: @Sendable (HTTPRequest) -> HTTPScreening
  private let answer: @Sendable (HTTPRequest) async -> HTTPResponse
  private let staysOnLoop: Bool
  private var listener: HTTPListener?
  /// By number: the last takes in who comes, the others serve who came before the certificate was
  /// another.
  private var daemons: [Int: HTTPDaemon] = [:]
  private var lastDaemon = 0

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  /// - Parameters:
  ///   - screen: runs on the loop when the head of a request has come; the request it gets has no
  ///     body yet. Without one, every request is read.
  ///   - staysOnLoop: after each wait an answer goes on at once on this loop, and what it calls
  ///     runs there: it must never block. Otherwise it goes on by way of the threads that all tasks
  ///     share.
  ///   - answer: runs on the loop; what it waits for should have an end before `exchangeTimeout`.
  package init(
    loop: EventLoop, options: HTTPServerOptions,
    screen: @escaping @Sendable (HTTPRequest) -> HTTPScreening = { _ in
      .read(maximumBodyBytes: .max)
    }, staysOnLoop: Bool = false,
    answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
  ) {
    self.loop = loop
    self.options = options
    self.screen = screen
    self.staysOnLoop = staysOnLoop
    self.answer = answer
  }

  /// Listens, and returns the port. Once only.
  /// - Parameter port: of another that shares it; nil: the one in the options, if nobody has it.
  package func start(at port: Int? = nil) throws(HTTPServerError) -> Int {
    precondition(listener == nil, "started twice")
    let listener = try HTTPListener(options, sharedPort: port, loop: loop)
    do throws(HTTPServerError) {
      try startDaemon(listener)
    } catch {
      listener.close()
      throw error
    }
    self.listener = listener
    return listener.port
  }

  /// Shows another certificate to who comes from now on. Who is there gets the answer to the
  /// request that is under way. Throws, and changes nothing, when nobody could be served with it.
  package func show(_ identity: HTTPServerIdentity) throws(HTTPServerError) {
    guard let listener, options.identity != identity else { return }
    let before = (identity: options.identity, daemon: lastDaemon)
    options.identity = identity
    do throws(HTTPServerError) {
      try startDaemon(listener)
    } catch {
      options.identity = before.identity
      throw error
    }
    daemons[before.daemon]?.retire { [weak self] in
      self?.assumeIsolated { _ = $0.daemons.removeValue(forKey: before.daemon) }
    }
  }

  /// Takes nobody in any more. Requests that are here or on their way get their answers, with which
  /// their connections end; bodies that are read while they come do not count. Returns when there
  /// are none left, or after `limit`; `stop` then closes what is left.
  package func drain(within limit: Duration) async {
    listener?.close()
    listener = nil
    for daemon in daemons.values { daemon.retire {} }
    let deadline = loop.now &+ limit.nanoseconds
    while daemons.values.contains(where: \.isBusy), loop.now < deadline {
      await loop.wait(.milliseconds(5))
    }
  }

  /// Closes everything; requests without an answer get none of ours. Nothing is called afterwards.
  package func stop() {
    listener?.close()
    listener = nil
    for daemon in daemons.values { daemon.stop() }
    daemons = [:]
  }

  private func startDaemon(_ listener: HTTPListener) throws(HTTPServerError) {
    let number = lastDaemon + 1
    let daemon = HTTPDaemon(loop: loop, options: options, listener: listener, screen: screen) {
      [weak self] exchange, request in
      self?.assumeIsolated { $0.begin(exchange, request, at: number) }
    }
    try daemon.start()
    daemons[number] = daemon
    lastDaemon = number
  }

  private func begin(_ number: Int, _ request: HTTPRequest, at daemon: Int) {
    if staysOnLoop {
      loop.task(on: self) { await self.serve(number, request, at: daemon) }
    } else {
      Task { await serve(number, request, at: daemon) }
    }
  }

  private func serve(_ number: Int, _ request: HTTPRequest, at daemon: Int) async {
    let response = await answer(request)
    daemons[daemon]?.respond(to: number, response)
  }
}
