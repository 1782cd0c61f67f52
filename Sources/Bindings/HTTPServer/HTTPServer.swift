import EventLoop

/// An HTTP/1.1 server on a loop. Requests come whole, but for bodies that the screening wants to be
/// read while they come, and are answered one after the other on each connection: whole, or state
/// by state until somebody ends it (`HTTPStateStream`).
package actor HTTPServer {
  private let loop: EventLoop
  private var options: HTTPServerOptions
  private let screen: @Sendable (HTTPRequest) -> HTTPScreening
  private let answer: @Sendable (HTTPRequest) async -> HTTPResponse
  private let staysOnLoop: Bool
  private var listener: HTTPListener?
  private var connections: HTTPConnections?

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
      connections = try HTTPConnections(
        loop: loop, options: options, listener: listener, screen: screen
      ) { [weak self] number, request in
        self?.assumeIsolated { $0.begin(number, request) }
      }
    } catch {
      listener.close()
      throw error
    }
    self.listener = listener
    return listener.port
  }

  /// Shows another certificate to who comes from now on. Connections that are open get the answer
  /// to the request that is under way. Throws, and changes nothing, when nobody could be served
  /// with it.
  package func show(_ identity: HTTPServerIdentity) throws(HTTPServerError) {
    guard let connections, options.identity != identity else { return }
    try connections.show(identity)
    options.identity = identity
  }

  /// Takes nobody in any more. Requests that are here or on their way get their answers, with which
  /// their connections end; bodies that are read while they come do not count. Streams end with
  /// their farewells. Returns when there are none left, or after `limit`; `stop` then closes what
  /// is left.
  package func drain(within limit: Duration) async {
    listener?.close()
    listener = nil
    connections?.retire()
    let deadline = loop.now &+ limit.nanoseconds
    while connections?.isBusy == true, loop.now < deadline {
      await loop.wait(.milliseconds(5))
    }
  }

  /// Closes everything; requests without an answer are told so. Nothing is called afterwards.
  package func stop() {
    listener?.close()
    listener = nil
    connections?.stop()
    connections = nil
  }

  private func begin(_ number: Int, _ request: HTTPRequest) {
    if staysOnLoop {
      loop.task(on: self) { await self.serve(number, request) }
    } else {
      Task { await serve(number, request) }
    }
  }

  private func serve(_ number: Int, _ request: HTTPRequest) async {
    let response = await answer(request)
    guard let connections else {
      response.stream?.over()
      return
    }
    response.stream?.begin { [self, loop] in
      loop.execute { [weak self] in self?.assumeIsolated { $0.connections?.pump(number) } }
    }
    connections.respond(to: number, response)
  }
}

/// Why a server cannot listen.
package struct HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String
}
