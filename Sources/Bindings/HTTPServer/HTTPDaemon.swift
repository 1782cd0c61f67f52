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
  private var nextRun: LoopTimer?
  /// By connection; one at a time on each.
  private var exchanges: [OpaquePointer: HTTPExchange] = [:]
  /// When a connection is given up, by connection.
  private var deadlines: [OpaquePointer: LoopTimer] = [:]
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
    let address = try SocketAddress(host: options.host, port: options.port)
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
    daemon = address.withUnsafe {
      start.address = $0
      return fanfare_http_start(&start)
    }
    guard let daemon else {
      throw HTTPServerError(
        description: "cannot listen on \(options.host) port \(options.port): "
          + String(cString: strerror(errno)))
    }
    do throws(LoopError) {
      registration = try loop.add(fanfare_http_descriptor(daemon), [.read], self)
    } catch {
      MHD_stop_daemon(daemon)
      self.daemon = nil
      throw HTTPServerError(description: "\(error)")
    }
    return Int(fanfare_http_port(daemon))
  }

  /// Closes everything. Nothing is called afterwards.
  func stop() {
    guard let daemon else { return }
    self.daemon = nil
    nextRun?.cancel()
    if let registration { loop.remove(registration) }
    // A daemon must not be stopped with suspended connections.
    for (connection, exchange) in exchanges where exchange.isSuspended {
      exchange.isSuspended = false
      exchange.response = .text(503, "the server stops")
      MHD_resume_connection(connection)
    }
    MHD_run(daemon)
    MHD_stop_daemon(daemon)
  }

  /// Lets libmicrohttpd do all that can be done without waiting.
  private func run() {
    guard let daemon else { return }
    MHD_run(daemon)
    nextRun?.cancel()
    nextRun = nil
    var milliseconds: UInt64 = 0
    guard MHD_get_timeout(daemon, &milliseconds) == .YES else { return }
    nextRun = loop.schedule(after: .milliseconds(Int64(clamping: milliseconds))) { [weak self] in
      self?.run()
    }
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
    guard let exchange = exchanges[connection] else {
      return begin(connection, path, method)
    }
    if let response = exchange.response { return send(response, on: connection) }
    if exchange.isTooLarge { return send(Self.tooLarge(options), on: connection) }
    if let count, count.pointee > 0 {
      exchange.append(UnsafeRawBufferPointer(start: bytes, count: count.pointee))
      count.pointee = 0
      return .YES
    }
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
    exchanges[connection] = exchange
    // Nothing of it is read, then.
    if exchange.isTooLarge { return send(Self.tooLarge(options), on: connection) }
    return .YES
  }

  private static func tooLarge(_ options: HTTPServerOptions) -> HTTPResponse {
    .text(413, "a body has at most \(options.maximumBodyBytes) bytes")
  }

  func respond(to number: Int, _ response: HTTPResponse) {
    // The server may have stopped meanwhile, and another request come on the connection.
    guard let found = exchanges.first(where: { $0.value.number == number }) else { return }
    found.value.response = response
    found.value.isSuspended = false
    MHD_resume_connection(found.key)
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
    exchanges[connection] = nil
    if deadlines[connection] != nil { setDeadline(connection) }
  }

  private func connected(_ connection: OpaquePointer, isNew: Bool) {
    if isNew { return setDeadline(connection) }
    deadlines.removeValue(forKey: connection)?.cancel()
    exchanges[connection] = nil
  }

  private func setDeadline(_ connection: OpaquePointer) {
    deadlines[connection]?.cancel()
    deadlines[connection] = loop.schedule(after: options.exchangeTimeout) { [weak self] in
      self?.giveUp(connection)
    }
  }

  /// libmicrohttpd finds the connection closed and says so; a suspended one when it is resumed.
  private func giveUp(_ connection: OpaquePointer) {
    guard deadlines[connection] != nil else { return }
    shutdown(fanfare_http_socket(connection), Int32(SHUT_RDWR))
    run()
  }
}

extension HTTPDaemon: LoopHandler {
  func descriptorReady(_ readiness: Interest) { run() }
}
