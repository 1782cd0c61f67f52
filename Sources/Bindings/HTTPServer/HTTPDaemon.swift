import CMicrohttpd
import EventLoop
import Glibc

/// libmicrohttpd, driven by a loop. Its callbacks run inside `run` and only record; a complete
/// request is handed on from there.
///
/// Confined to its loop, which keeps it from `start` to `stop`; owns the daemon in between.
final class HTTPDaemon {
  private let loop: EventLoop
  private let options: HTTPServerOptions
  /// Gets each request with a number for `respond`; must not call back at once.
  private let whenComplete: (Int, HTTPRequest) -> Void
  private var daemon: OpaquePointer?
  private var registration: Registration?
  private var listener: HTTPListener?
  private var nextRun: LoopTimer?
  private var connections: [OpaquePointer: HTTPConnection] = [:]
  /// Who is being handed to libmicrohttpd.
  private var arriving: PeerAddress?
  /// Somebody waits in the kernel until a connection may go.
  private var isWaitedFor = false
  private var lastNumber = 0

  init(
    loop: EventLoop, options: HTTPServerOptions,
    whenComplete: @escaping (Int, HTTPRequest) -> Void
  ) {
    self.loop = loop
    self.options = options
    self.whenComplete = whenComplete
  }

  /// Listens, and returns the port. Once only.
  func start() throws(HTTPServerError) -> Int {
    let listener = try HTTPListener(options, loop: loop) { [weak self] in self?.admit() }
    var start = fanfare_http_options()
    start.connections = UInt32(clamping: options.maximumConnections)
    // Half of it is what libmicrohttpd reads into.
    start.connection_memory = 2 * options.maximumHeadBytes
    start.closure = Unmanaged.passUnretained(self).toOpaque()
    start.received = { closure, connection, path, method, _, bytes, count, _ in
      HTTPDaemon.with(closure, connection) { server, connection in
        server.received(connection, path, method, bytes, count)
      } ?? .NO
    }
    start.completed = { closure, connection, _, _ in
      _ = HTTPDaemon.with(closure, connection) { $0.completed($1) }
    }
    start.connected = { closure, connection, _, code in
      _ = HTTPDaemon.with(closure, connection) {
        $0.connected($1, isNew: code == .CONNECTION_NOTIFY_STARTED)
      }
    }
    guard let daemon = fanfare_http_start(&start) else {
      listener.close()
      throw HTTPServerError(
        description: "libmicrohttpd does not start: \(String(cString: strerror(errno)))")
    }
    do throws(LoopError) {
      registration = try loop.add(fanfare_http_descriptor(daemon), [.read], self)
    } catch {
      listener.close()
      MHD_stop_daemon(daemon)
      throw HTTPServerError(description: "\(error)")
    }
    self.daemon = daemon
    self.listener = listener
    return listener.port
  }

  /// Closes everything. Nothing is called afterwards.
  func stop() {
    guard let daemon else { return }
    self.daemon = nil
    listener?.close()
    nextRun?.cancel()
    if let registration { loop.remove(registration) }
    // A daemon must not be stopped with suspended connections.
    for (connection, state) in connections {
      guard let exchange = state.exchange, exchange.isSuspended else { continue }
      exchange.isSuspended = false
      exchange.response = Self.stopping
      MHD_resume_connection(connection)
    }
    MHD_run(daemon)
    MHD_stop_daemon(daemon)
  }

  private static let stopping = HTTPResponse.text(503, "the server stops")

  /// Lets libmicrohttpd do all that can be done without waiting.
  private func run() {
    guard let daemon else { return }
    MHD_run(daemon)
    if isWaitedFor, hasRoom || Leaving.first(of: connections) != nil {
      isWaitedFor = false
      listener?.resume()
    }
    nextRun?.cancel()
    nextRun = nil
    var milliseconds: UInt64 = 0
    guard MHD_get_timeout(daemon, &milliseconds) == .YES else { return }
    nextRun = loop.schedule(after: .milliseconds(Int64(clamping: milliseconds))) { [weak self] in
      self?.run()
    }
  }

  // MARK: who comes

  private var hasRoom: Bool { connections.count < options.maximumConnections }

  /// Somebody waits. When there is no room, another goes for the first of them.
  private func admit() {
    run()
    if !hasRoom { makeRoom() }
    // Bounded per turn, so that a storm of connections does not stop those that are there.
    for _ in 0..<64 where hasRoom {
      guard let daemon, let listener else { return }
      switch listener.next() {
      case .client(let descriptor, var address, let length):
        arriving = PeerAddress(address)
        // What is refused is closed, too.
        _ = fanfare_http_add(daemon, descriptor, &address, length)
        arriving = nil
        // What it has sent is read before it is asked who goes for the next one.
        run()
      case .nobody: return
      case .noDescriptors: return listener.pause()
      }
    }
  }

  private func makeRoom() {
    if let connection = Leaving.first(of: connections) { close(connection) }
    guard !hasRoom else { return }
    isWaitedFor = true
    listener?.pause()
  }

  // MARK: what libmicrohttpd says

  private static func with<T>(
    _ closure: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ body: (HTTPDaemon, OpaquePointer) -> T
  ) -> T? {
    guard let closure, let connection else { return nil }
    return body(
      Unmanaged<HTTPDaemon>.fromOpaque(closure).takeUnretainedValue(), connection)
  }

  /// Called when the head of a request is there, with each piece of its body, at its end, and when
  /// the connection was resumed.
  private func received(
    _ connection: OpaquePointer, _ path: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?,
    _ bytes: UnsafePointer<CChar>?, _ count: UnsafeMutablePointer<Int>?
  ) -> MHD_Result {
    guard let exchange = connections[connection]?.exchange else {
      return begin(connection, path, method)
    }
    if let response = exchange.response { return send(response, on: connection) }
    if exchange.isTooLarge { return send(Self.tooLarge(options), on: connection) }
    if let count, count.pointee > 0 {
      exchange.append(UnsafeRawBufferPointer(start: bytes, count: count.pointee))
      count.pointee = 0
      return .YES
    }
    // libmicrohttpd ends the process when it is stopped with a suspended connection.
    guard daemon != nil else { return send(Self.stopping, on: connection) }
    MHD_suspend_connection(connection)
    exchange.isSuspended = true
    whenComplete(exchange.number, exchange.request)
    return .YES
  }

  private func begin(
    _ connection: OpaquePointer, _ path: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?
  ) -> MHD_Result {
    lastNumber += 1
    guard let path, let method,
      let exchange = HTTPExchange(
        connection, method: String(cString: method), path: path, number: lastNumber,
        maximumBodyBytes: options.maximumBodyBytes)
    else { return send(.text(400, "the address of the request is not valid"), on: connection) }
    connections[connection]?.exchange = exchange
    // Nothing of it is read, then.
    if exchange.isTooLarge { return send(Self.tooLarge(options), on: connection) }
    return .YES
  }

  private static func tooLarge(_ options: HTTPServerOptions) -> HTTPResponse {
    .text(413, "a body has at most \(options.maximumBodyBytes) bytes")
  }

  func respond(to number: Int, _ response: HTTPResponse) {
    // The server may have stopped meanwhile, and another request come on the connection.
    let found = connections.first { $0.value.exchange?.number == number }
    guard let (connection, state) = found, let exchange = state.exchange else { return }
    exchange.response = response
    exchange.isSuspended = false
    MHD_resume_connection(connection)
    run()
  }

  private func send(_ response: HTTPResponse, on connection: OpaquePointer) -> MHD_Result {
    let made = response.body.withUnsafeBytes {
      MHD_create_response_from_buffer(
        $0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress), .RESPMEM_MUST_COPY)
    }
    guard let made else { return .NO }
    defer { MHD_destroy_response(made) }
    let headers = response.headers.sorted { $0.key < $1.key }
    for (name, value) in [("Content-Type", response.contentType)] + headers
    where MHD_add_response_header(made, name, value) != .YES { return .NO }
    return MHD_queue_response(connection, UInt32(clamping: response.status), made)
  }

  private func completed(_ connection: OpaquePointer) {
    guard let state = connections[connection] else { return }
    state.exchange = nil
    lastNumber += 1
    state.quietSince = lastNumber
    setDeadline(connection, state)
  }

  private func connected(_ connection: OpaquePointer, isNew: Bool) {
    guard isNew else {
      connections.removeValue(forKey: connection)?.deadline?.cancel()
      return
    }
    guard let arriving else { return }
    lastNumber += 1
    let state = HTTPConnection(peer: arriving, quietSince: lastNumber)
    connections[connection] = state
    setDeadline(connection, state)
  }

  private func setDeadline(_ connection: OpaquePointer, _ state: HTTPConnection) {
    state.deadline?.cancel()
    state.deadline = loop.schedule(after: options.exchangeTimeout) { [weak self] in
      self?.close(connection)
    }
  }

  /// libmicrohttpd finds the connection closed and says so; a suspended one when it is resumed.
  private func close(_ connection: OpaquePointer) {
    guard let state = connections[connection] else { return }
    state.isLeaving = true
    shutdown(fanfare_http_socket(connection), Int32(SHUT_RDWR))
    run()
  }
}

extension HTTPDaemon: LoopHandler {
  func descriptorReady(_ readiness: Interest) { run() }
}
