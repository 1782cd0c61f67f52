import EventLoop

/// An HTTP/1.1 server on a loop. Requests come whole and are answered whole, one after the other on
/// each connection.
package actor HTTPServer {
  private let loop: EventLoop
  private let options: HTTPServerOptions
  private let answer: @Sendable (HTTPRequest) async -> HTTPResponse
  private var daemon: HTTPDaemon?

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  /// - Parameter answer: runs on the loop; what it waits for should have an end before
  ///   `exchangeTimeout`.
  package init(
    loop: EventLoop, options: HTTPServerOptions,
    answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
  ) {
    self.loop = loop
    self.options = options
    self.answer = answer
  }

  /// Listens, and returns the port. Once only.
  package func start() throws(HTTPServerError) -> Int {
    precondition(daemon == nil, "started twice")
    let daemon = HTTPDaemon(loop: loop, options: options) { [weak self] number, request in
      self?.assumeIsolated { $0.begin(number, request) }
    }
    let port = try daemon.start()
    self.daemon = daemon
    return port
  }

  /// Closes everything; requests without an answer get none of ours. Nothing is called afterwards.
  package func stop() {
    daemon?.stop()
    daemon = nil
  }

  private func begin(_ number: Int, _ request: HTTPRequest) {
    Task {
      let response = await answer(request)
      daemon?.respond(to: number, response)
    }
  }
}
