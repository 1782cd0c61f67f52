import CMicrohttpd
import EventLoop
import Glibc

/// libmicrohttpd, driven by a loop. Its callbacks run inside `run` and only record; a complete
/// request is handed on from there.
///
/// Confined to its loop, which keeps it from `start` to `stop`; owns the daemon in between. A
/// certificate stays the same for a daemon's life: who wants another starts another daemon, which
/// takes over the listener, and lets this one retire.
final class HTTPDaemon {
  let loop: EventLoop
  let options: HTTPServerOptions
  private let listener: HTTPListener
  private let screen: (HTTPRequest) -> HTTPScreening
  /// Gets each request with a number for `respond`; must not call back at once.
  let whenComplete: (Int, HTTPRequest) -> Void
  var daemon: OpaquePointer?
  private var identity: ServedIdentity?
  private var registration: Registration?
  private var nextRun: LoopTimer?
  /// At the end of this turn of the loop.
  var isRunDue = false
  var connections: [OpaquePointer: HTTPConnection] = [:]
  /// Whose requests wait for our answers, by their numbers.
  var waiting: [Int: OpaquePointer] = [:]
  /// Of all bodies that are there or coming.
  var bodyBytes = 0
  /// Set once others come elsewhere: called when the last one has gone.
  private var whenEmpty: (() -> Void)?
  /// Who is being handed to libmicrohttpd.
  private var arriving: PeerAddress?
  /// Somebody waits in the kernel until a connection may go.
  private var isWaitedFor = false
  private var lastNumber = 0

  init(
    loop: EventLoop, options: HTTPServerOptions, listener: HTTPListener,
    screen: @escaping (HTTPRequest) -> HTTPScreening,
    whenComplete: @escaping (Int, HTTPRequest) -> Void
  ) {
    self.loop = loop
    self.options = options
    self.listener = listener
    self.screen = screen
    self.whenComplete = whenComplete
  }

  /// Takes in who comes to the listener. Once only.
  func start() throws(HTTPServerError) {
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
    let identity = options.identity.map { ServedIdentity($0) }
    start.certificates = identity?.certificates
    start.private_key = identity?.privateKey
    guard let daemon = fanfare_http_start(&start) else {
      let reason =
        identity == nil
        ? String(cString: strerror(errno)) : "the certificate and the key do not make a server"
      throw HTTPServerError(description: "libmicrohttpd does not start: \(reason)")
    }
    do throws(LoopError) {
      registration = try loop.add(fanfare_http_descriptor(daemon), [.read], self)
    } catch {
      MHD_stop_daemon(daemon)
      throw HTTPServerError(description: "\(error)")
    }
    self.daemon = daemon
    self.identity = identity
    listener.whenSomebodyWaits = { [weak self] in self?.admit() }
    listener.resume()
  }

  /// Others take in who comes from now on: each connection ends with the answer to its request,
  /// or when its time is over. Stops then, and says so.
  func retire(_ whenEmpty: @escaping () -> Void) {
    self.whenEmpty = whenEmpty
    loop.schedule(after: .zero) { [weak self] in self?.run() }
  }

  /// A request is here whose answer has not left, or comes in.
  var isBusy: Bool {
    daemon != nil && connections.values.contains { $0.exchange.map { $0.stream == nil } ?? false }
  }

  /// Closes everything but the listener. Nothing is called afterwards.
  func stop() {
    guard let daemon else { return }
    self.daemon = nil
    whenEmpty = nil
    nextRun?.cancel()
    if let registration { loop.remove(registration) }
    // A daemon must not be stopped with suspended connections.
    for (connection, state) in connections {
      guard let exchange = state.exchange, exchange.isSuspended else { continue }
      exchange.isSuspended = false
      exchange.response = stopping
      MHD_resume_connection(connection)
    }
    MHD_run(daemon)
    MHD_stop_daemon(daemon)
    identity = nil
  }

  var stopping: HTTPResponse { options.refusal(503, "the server stops") }

  /// libmicrohttpd does all that can be done without waiting.
  func run() {
    guard let daemon else { return }
    MHD_run(daemon)
    if isWaitedFor, hasRoom || Leaving.first(of: connections) != nil {
      isWaitedFor = false
      listener.resume()
    }
    nextRun?.cancel()
    if connections.isEmpty, let whenEmpty {
      stop()
      return whenEmpty()
    }
    var milliseconds: UInt64 = 0
    guard MHD_get_timeout(daemon, &milliseconds) == .YES else {
      nextRun = nil
      return
    }
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
      guard let daemon else { return }
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
    listener.pause()
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
    guard let state = connections[connection], let exchange = state.exchange else {
      return begin(connection, path, method)
    }
    if let stream = exchange.stream { return received(stream, connection, state, bytes, count) }
    if let count, count.pointee > 0 {
      // libmicrohttpd takes an answer in front of a body or behind it: the rest is read past.
      if exchange.response == nil {
        append(UnsafeRawBufferPointer(start: bytes, count: count.pointee), to: exchange)
        if exchange.response != nil { setDeadline(connection, state, after: Self.readPast) }
      }
      count.pointee = 0
      return .YES
    }
    if let response = exchange.response { return send(response, on: connection) }
    // libmicrohttpd ends the process when it is stopped with a suspended connection.
    guard daemon != nil else { return send(stopping, on: connection) }
    suspend(connection, exchange)
    waiting[exchange.number] = connection
    whenComplete(exchange.number, exchange.request)
    return .YES
  }

  private func begin(
    _ connection: OpaquePointer, _ path: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?
  ) -> MHD_Result {
    lastNumber += 1
    guard let state = connections[connection], let path, let method,
      let exchange = HTTPExchange(
        connection, method: String(cString: method), path: path, number: lastNumber,
        peer: state.peer, maximumBodyBytes: options.maximumBodyBytes)
    else { return refuse(400, "the address of the request is not valid", on: connection) }
    state.exchange = exchange
    switch screen(exchange.request) {
    case .read(let limit): exchange.bound(limit)
    case .stream(let maximumBodyBytes, let limit):
      exchange.stream(maximumBodyBytes, within: limit)
      if !exchange.isTooLarge { handOn(exchange, connection, state) }
    // Nothing of it is read, then.
    case .refuse(let response): return send(response, on: connection)
    }
    if exchange.isTooLarge { return refuse(413, exchange.whyTooLarge, on: connection) }
    return .YES
  }

  private func refuse(_ status: Int, _ reason: String, on connection: OpaquePointer) -> MHD_Result {
    send(options.refusal(status, reason), on: connection)
  }

  func send(_ response: HTTPResponse, on connection: OpaquePointer) -> MHD_Result {
    response.queue(on: connection, isLast: whenEmpty != nil)
  }

  func respond(to number: Int, _ response: HTTPResponse) {
    // The client may have gone meanwhile, or all have been told that the server stops.
    guard daemon != nil, let connection = waiting.removeValue(forKey: number),
      let exchange = connections[connection]?.exchange
    else { return }
    exchange.response = response
    if let state = connections[connection], exchange.stream?.hasEnded == false {
      setDeadline(connection, state, after: Self.readPast)
    }
    if exchange.isSuspended { resume(connection, exchange) }
  }

  private func completed(_ connection: OpaquePointer) {
    guard let state = connections[connection] else { return }
    if let exchange = state.exchange {
      exchange.stream?.end(.broken)
      bodyBytes -= exchange.bodyBytes
      waiting.removeValue(forKey: exchange.number)
    }
    state.exchange = nil
    state.lastMoment = nil
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

  /// libmicrohttpd finds the connection closed and says so; a suspended one when it is resumed.
  func close(_ connection: OpaquePointer) {
    guard let state = connections[connection] else { return }
    state.isLeaving = true
    shutdown(fanfare_http_socket(connection), Int32(SHUT_RDWR))
    run()
  }
}

extension HTTPDaemon: LoopHandler {
  func descriptorReady(_ readiness: Interest) { run() }
}
