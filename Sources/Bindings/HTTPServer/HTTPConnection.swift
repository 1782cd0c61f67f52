import EventLoop
import Transport

/// A client that is connected, and its exchanges, one after the other. Confined to the loop of its
/// server, which keeps it until `close`.
final class HTTPConnection {
  enum Phase {
    /// A request is awaited, or its head comes.
    case head
    /// Its body comes, and is kept.
    case body
    /// It was handed on, and has no answer yet; a streamed body may still come.
    case answer
    /// Its response is on its way.
    case response
    /// Its response goes on, state by state.
    case stream
    /// The last response has left, and we have ended our side: what the client still sends is read
    /// past, since a connection that is closed with unread bytes may lose the response.
    case lingering
    case closed
  }

  /// The size of one read: at most so much of the next request is kept while one is answered.
  private static let readBytes = 16 << 10

  let number: Int
  let peer: PeerAddress
  let transport: Connection
  unowned let owner: HTTPConnections
  var options: HTTPServerOptions { owner.options }
  var loop: EventLoop { owner.loop }
  var phase = Phase.head
  /// Counts up over all connections: when it came, or when its last exchange ended.
  var quietSince: Int
  var parser: HTTPRequestParser
  /// Bytes behind the request that is being answered.
  var held: [UInt8] = []
  /// The client sends nothing more.
  var hasPeerFinished = false

  // Of the exchange:
  private(set) var exchange = 0
  var request: HTTPRequest?
  private var maximumBodyBytes = 0
  var isBodyComplete = true
  /// The client waits to be asked for the body.
  private var isAskDue = false
  var intake: BodyIntake?
  /// The connection ends with the response.
  var isLast = false
  /// Linger briefly: the client's bytes are no request.
  var isGivenUp = false
  /// The client speaks HTTP/1.1.
  private(set) var takesChunks = true
  /// Set in the phase `stream`.
  var outgoing: Outgoing?
  var isProcessing = false
  /// The time of an exchange runs.
  private var hasBegun = false
  private var discardedBytes = 0

  let writer: ResponseWriter
  /// When the phase is given up.
  let timer: DeadlineTimer

  init(_ number: Int, _ transport: Connection, from peer: PeerAddress, of owner: HTTPConnections) {
    self.number = number
    self.peer = peer
    self.transport = transport
    self.owner = owner
    quietSince = owner.nextTick()
    parser = HTTPRequestParser(maximumHeadBytes: owner.options.maximumHeadBytes)
    writer = ResponseWriter(transport)
    timer = DeadlineTimer(loop: owner.loop, interval: owner.options.exchangeTimeout)
    timer.whenOver = { [weak self] in self?.timeIsOver() }
    transport.largestRead = Self.readBytes
    transport.outlivesPeersEnd = true
    transport.delegate = self
  }

  func begin() {
    timer.set(after: options.exchangeTimeout)
    transport.begin()
    readNow()
  }

  /// Reads what the kernel holds, without waiting for the loop's turn.
  func readNow() { transport.readNow() }

  /// It waits for its client: for a request, for the rest of one, or for a response to be read.
  /// Never where the client waits for us, nor where a long body is on its way and wanted: there are
  /// few of those, and they have a time of their own. Nor a stream: there are few of these, too.
  var mayGo: Bool { phase != .answer && phase != .stream && phase != .closed }

  /// A request is here whose response has not left; one with a streamed body does not count.
  var isBusy: Bool {
    switch phase {
    case .body, .response, .stream: true
    case .answer: intake == nil
    case .head, .lingering, .closed: false
    }
  }

  /// Closes at once. A request that waits for its answer is told that there is none.
  func stop() {
    isLast = true
    if phase == .answer { respond(options.refusal(503, "the server stops")) }
    if phase == .stream {
      outgoing?.stream.end()
      pump()
    }
    if phase == .response { transport.finishWriting() }
    close()
  }

  func close() {
    guard phase != .closed else { return }
    transport.close()
    ended()
  }

  private func ended() {
    forgetStream()
    phase = .closed
    timer.cancel()
    intake?.stream.end(.broken)
    owner.ended(self, bodyBytes: request?.body.count ?? 0)
    request = nil
  }

  // MARK: reading

  private var isReadingRequests: Bool {
    switch phase {
    case .head, .body: true
    case .answer: !isBodyComplete
    case .response, .stream, .lingering, .closed: false
    }
  }

  func process(_ bytes: UnsafeRawBufferPointer) {
    var offset = 0
    isProcessing = true
    if phase == .head { exchangeBegins() }
    parsing: while isReadingRequests {
      switch parser.next(bytes, from: &offset) {
      case .head(let head): begin(head, isMoreHere: offset < bytes.count)
      case .body(let range): take(UnsafeRawBufferPointer(rebasing: bytes[range]))
      case .end: bodyEnded()
      case .refused(let refusal): giveUp(refusal)
      case .incomplete: break parsing
      }
    }
    isProcessing = false
    unread(UnsafeRawBufferPointer(rebasing: bytes[offset...]))
    guard phase == .head else { return }
    // After an answer or an empty line, a request is awaited; or its first bytes are here.
    if parser.isBetweenRequests { awaitRequest() } else { exchangeBegins() }
    if hasPeerFinished { closeWhenSent() }
  }

  /// The time of an exchange runs from its first byte on.
  private func exchangeBegins() {
    guard !hasBegun else { return }
    hasBegun = true
    timer.set(after: options.exchangeTimeout)
  }

  func awaitRequest() {
    hasBegun = false
    timer.set(after: options.idleTimeout)
  }

  func updateReading() {
    let weAreSlow = phase == .answer && !isBodyComplete && intake?.isHeldUp == true
    if weAreSlow || !held.isEmpty { transport.pauseReading() } else { transport.resumeReading() }
  }

  /// Keeps or drops bytes that no parser takes now: of the next request, or of a body that was
  /// answered before its end.
  private func unread(_ bytes: UnsafeRawBufferPointer) {
    guard !bytes.isEmpty, phase != .closed else { return }
    guard isLast || phase == .lingering else {
      held.append(contentsOf: bytes)
      return updateReading()
    }
    discardedBytes += bytes.count
    if discardedBytes > options.lingerBytes { close() }
  }

  private func begin(_ head: HTTPHead, isMoreHere: Bool) {
    exchangeBegins()
    exchange = owner.nextTick()
    var request = HTTPRequest(head, from: peer)
    isLast = isLast || !head.keepsAlive || owner.isRetiring
    takesChunks = head.takesChunks
    isBodyComplete = head.body == .none
    isAskDue = head.expectsContinue && !isBodyComplete && !isMoreHere
    phase = .body
    self.request = request
    switch owner.screen(request) {
    case .withoutBody:
      guard isBodyComplete else { return refuse(400, "this request takes no body") }
      handOn(request)
    case .read(let limit):
      maximumBodyBytes = min(options.maximumBodyBytes, limit)
      guard fits(head) else { return }
      if isBodyComplete { handOn(request) } else { askForBody() }
    case .stream(let bounds):
      maximumBodyBytes = bounds.maximumBytes
      guard fits(head) else { return }
      let intake = BodyIntake(bounds, now: loop.now)
      let stream = intake.stream
      stream.whenFirstAsked = { [weak self] in self?.askForBody() }
      stream.whenBelowLimit = { [weak self] in self?.takeMore() }
      request.stream = stream
      self.intake = intake
      if isBodyComplete { stream.end(.end) }
      timer.set(
        at: isBodyComplete
          ? intake.lastMoment : intake.deadline(window: options.exchangeTimeout))
      handOn(request)
    case .refuse(let response): respond(response)
    }
  }

  private func fits(_ head: HTTPHead) -> Bool {
    guard case .length(let length) = head.body, length > maximumBodyBytes else { return true }
    refuse(413, whyTooLarge)
    return false
  }

  private var whyTooLarge: String { "a body has at most \(maximumBodyBytes) bytes" }

  private func askForBody() {
    guard isAskDue, phase == .body || phase == .answer else { return }
    isAskDue = false
    HTTPResponse.goOn.withUnsafeBytes { transport.write($0) }
  }

  private func take(_ bytes: UnsafeRawBufferPointer) {
    isAskDue = false
    if let intake {
      guard !intake.stream.hasEnded else { return }
      intake.take(bytes)
      // It was too large: whoever reads it has this time to answer.
      if intake.stream.hasEnded { return timer.set(after: options.exchangeTimeout) }
      guard intake.stream.isFull, phase == .answer else { return }
      // It is we who are slow.
      intake.isHeldUp = true
      timer.set(at: intake.deadline(window: options.exchangeTimeout))
      return updateReading()
    }
    guard let held = request?.body.count, held + bytes.count <= maximumBodyBytes else {
      return refuse(413, whyTooLarge)
    }
    guard owner.keep(bytes.count) else {
      return refuse(503, "too many large requests at once: come again")
    }
    request?.body.append(contentsOf: bytes)
  }

  private func takeMore() {
    guard let intake, intake.isHeldUp, phase == .answer else { return }
    intake.isHeldUp = false
    intake.beginWindow(now: loop.now)
    timer.set(at: intake.deadline(window: options.exchangeTimeout))
    updateReading()
  }

  private func bodyEnded() {
    isBodyComplete = true
    if let intake {
      guard !intake.stream.hasEnded else { return }
      intake.stream.end(.end)
      timer.set(at: intake.lastMoment)
      updateReading()
    } else if phase == .body, let request {
      handOn(request)
    }
  }

  private func handOn(_ request: HTTPRequest) {
    phase = .answer
    owner.handOn(exchange, request, from: self)
  }
}

extension HTTPConnection: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) { awaitRequest() }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    if isReadingRequests, held.isEmpty { process(bytes) } else { unread(bytes) }
  }

  func connectionDrained(_ connection: Connection) {
    if phase == .stream { pump() } else { write() }
  }

  func connectionPeerFinished(_ connection: Connection) {
    hasPeerFinished = true
    switch phase {
    case .head, .body: closeWhenSent()
    // A client that wants no more of a stream shows it so.
    case .stream, .lingering, .closed: close()
    case .answer: if !isBodyComplete { endBody(.broken) }
    case .response: break
    }
  }

  func connectionClosed(_ connection: Connection, error: TransportError?) {
    if phase != .closed { ended() }
  }
}

/// A response on its way: as much of it is handed to the socket as that takes, so that no more than
/// a piece or two wait there, whatever its length. Confined to its connection.
final class ResponseWriter {
  /// The size of one write to the socket.
  private static let pieceBytes = 16 << 10

  private let transport: Connection
  private var body: [UInt8] = []
  private var start = 0
  /// Set while writing: `connectionDrained` is ignored then.
  private var isWriting = false

  init(_ transport: Connection) { self.transport = transport }

  func begin(_ head: [UInt8], _ body: [UInt8]) {
    self.body = body
    start = 0
    head.withUnsafeBytes { transport.write($0) }
  }

  /// Nothing of what it was given is left, neither here nor at the socket.
  var isDone: Bool { body.isEmpty && transport.pendingBytes == 0 }

  /// Whether all of it has left; where another follows, whether next to nothing waits.
  func write(isLast: Bool) -> Bool {
    guard !isWriting else { return false }
    isWriting = true
    defer { isWriting = false }
    while start < body.count {
      if transport.pendingBytes >= Self.pieceBytes { transport.flush() }
      guard transport.isOpen, transport.pendingBytes < Self.pieceBytes else { return false }
      let end = min(body.count, start + Self.pieceBytes)
      body[start..<end].withUnsafeBytes { transport.write($0) }
      start = end
    }
    body = []
    start = 0
    if isLast { transport.flush() }
    return transport.isOpen && transport.pendingBytes < (isLast ? 1 : Self.pieceBytes)
  }
}

/// A deadline that is put off with each request: it is looked at now and then, so that most changes
/// need no timer of their own. Confined to its loop.
final class DeadlineTimer {
  private let loop: EventLoop
  /// The longest that a timer of the loop is set for.
  private let interval: UInt64
  private var deadline: UInt64 = 0
  private var timer: LoopTimer?
  private var timerDue: UInt64 = 0
  var whenOver: () -> Void = {}

  init(loop: EventLoop, interval: Duration) {
    self.loop = loop
    self.interval = interval.nanoseconds
  }

  func set(after wait: Duration) { set(at: loop.now &+ wait.nanoseconds) }

  /// - Parameter moment: monotonic nanoseconds.
  func set(at moment: UInt64) {
    deadline = moment
    let due = min(moment, loop.now &+ interval)
    guard timer == nil || timerDue > due else { return }
    timer?.cancel()
    timerDue = due
    let wait = due > loop.now ? due - loop.now : 0
    timer = loop.schedule(after: .nanoseconds(Int64(clamping: wait))) { [weak self] in
      self?.fired()
    }
  }

  func cancel() {
    timer?.cancel()
    whenOver = {}
  }

  private func fired() {
    timer = nil
    guard loop.now >= deadline else { return set(at: deadline) }
    whenOver()
  }
}

/// A body on its way to whoever reads it while it comes, and whether it comes fast enough. Confined
/// to its connection.
final class BodyIntake {
  let stream: HTTPBodyStream
  /// When the exchange is given up, whatever comes; monotonic nanoseconds.
  let lastMoment: UInt64
  private let bounds: HTTPBodyBounds
  /// The client waits for us.
  var isHeldUp = false
  private var windowStart: UInt64
  private(set) var windowBytes = 0

  init(_ bounds: HTTPBodyBounds, now: UInt64) {
    self.bounds = bounds
    stream = HTTPBodyStream(maximumBytes: bounds.maximumBytes)
    lastMoment = now &+ bounds.limit.nanoseconds
    windowStart = now
  }

  func take(_ bytes: UnsafeRawBufferPointer) {
    windowBytes += bytes.count
    stream.append(bytes)
  }

  func beginWindow(now: UInt64) {
    windowStart = now
    windowBytes = 0
  }

  /// When it is looked at again.
  func deadline(window: Duration) -> UInt64 {
    isHeldUp ? lastMoment : min(lastMoment, windowStart &+ window.nanoseconds)
  }

  /// Why no more of it is read; nil begins another window.
  func complaint(now: UInt64, window: Duration) -> String? {
    guard now < lastMoment else {
      return "the body did not come within \(bounds.limit.components.seconds) s"
    }
    let least = Double(bounds.bytesPerSecond) * (window / .seconds(1))
    guard Double(windowBytes) >= least, windowBytes > 0 else {
      return "the body came more slowly than \(bounds.bytesPerSecond) bytes a second"
    }
    beginWindow(now: now)
    return nil
  }
}
