import EventLoop
import HTTPServer
import JSON
import Redis
import Text

/// A view of the dashboard.
package enum DashboardView: Hashable, Sendable {
  /// So many fan-outs.
  case fanOuts(limit: Int)
  /// One fan-out, by its event.
  case fanOut(ExactText)
  case health
  case templates
}

/// The result of a look at a view.
package enum DashboardAnswer: Sendable, Equatable {
  /// JSON on one line.
  case state([UInt8])
  /// Redis knows no such fan-out.
  case unknown
  /// Redis could never be read; why, in words.
  case unreadable(String)
}

/// Shows fan-outs and workers to people, from what Redis holds. On a loop of its own, with one
/// connection to Redis: it is read once a second for all who look, and not at all while nobody
/// does.
package actor Dashboard {
  private let options: DashboardOptions
  private let loop = EventLoop(name: "dashboard")
  private var redis: RedisClient?
  private var reader: DashboardReader?
  private var watches: [DashboardView: Watch] = [:]
  private var waiters: [DashboardView: [CheckedContinuation<DashboardAnswer, Never>]] = [:]
  /// Views that the last refresh was for, and what it showed.
  private var answers: [DashboardView: DashboardAnswer] = [:]
  private var isRefreshing = false
  private var timer: LoopTimer?
  /// Monotonic nanoseconds when the last refresh began; nil: none has.
  private var refreshedAt: UInt64?
  private var lastStream = 0
  private var counts = DashboardMetrics()
  private var isClosed = false

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  /// Those who look at a view, and what they were shown last.
  private struct Watch {
    var streams: [Int: HTTPStateStream] = [:]
    var body: [UInt8] = []
  }

  package init(_ options: DashboardOptions) { self.options = options }

  /// Begins to connect to Redis, which need not be there yet.
  package func start() {
    var redis = options.redis
    // Viewers want to know soon that Redis does not answer.
    redis.commandTimeout = min(redis.commandTimeout, .seconds(3))
    let log = options.log
    let client = RedisClient(options: redis, loop: loop) { log($0) }
    client.start()
    self.redis = client
    reader = DashboardReader(client, options)
  }

  /// Ends every stream.
  package func close() {
    isClosed = true
    timer?.cancel()
    for watch in watches.values { for stream in watch.streams.values { stream.end() } }
    for view in waiters.keys { answer(view, .unreadable("the server stops")) }
    redis?.close()
    redis = nil
  }

  /// Lets its thread end. Nothing is called afterwards.
  package nonisolated func end() { loop.stop() }

  /// Returns when its thread has done something.
  package nonisolated func tick() async { await loop.answers() }

  // MARK: who looks

  /// A view as it was within the last second, or as the next refresh finds it.
  package func look(at view: DashboardView) async -> DashboardAnswer {
    guard !isClosed else { return .unreadable("the server stops") }
    if isFresh, let answer = answers[view] ?? answer(to: view) { return answer }
    return await withCheckedContinuation { continuation in
      waiters[view, default: []].append(continuation)
      refreshSoon()
    }
  }

  /// A stream of a view's states, as server-sent events.
  /// - Parameters:
  ///   - state: what `look` has brought: it is sent first where nothing can be read now.
  ///   - whenOver: called once, from any thread, when nobody reads the stream any more.
  package func open(
    _ view: DashboardView, from state: [UInt8], whenOver: @escaping @Sendable () -> Void = {}
  ) -> HTTPStateStream {
    lastStream += 1
    let number = lastStream
    let stream = HTTPStateStream(ServerSentEvents.options) { [loop] in
      whenOver()
      loop.execute { [weak self] in self?.assumeIsolated { $0.left(number, view) } }
    }
    guard !isClosed else {
      stream.end()
      return stream
    }
    var watch = watches[view] ?? Watch()
    watch.streams[number] = stream
    // Others may have been shown more since, and the last change may be old: its time is now.
    var first = state
    if case .state(let current)? = answer(to: view) {
      first = current
      // The next refresh need not send the same again.
      if watch.body.isEmpty { watch.body = timeless(view) }
    }
    stream.send(ServerSentEvents.state(first))
    watches[view] = watch
    refreshSoon()
    return stream
  }

  /// Ends what everybody watches.
  package func endStreams() {
    for watch in watches.values {
      for stream in watch.streams.values { stream.end() }
    }
  }

  private func left(_ number: Int, _ view: DashboardView) {
    watches[view]?.streams[number] = nil
    if watches[view]?.streams.isEmpty == true { watches[view] = nil }
  }

  package var metrics: DashboardMetrics {
    var metrics = counts
    metrics.viewers = watches.values.reduce(0) { $0 + $1.streams.count }
    metrics.commands = reader?.commandCount ?? 0
    return metrics
  }

  // MARK: refreshing

  private var isFresh: Bool {
    refreshedAt.map { loop.now &- $0 < options.refreshInterval.nanoseconds } ?? false
  }

  private func refreshSoon() {
    guard !isRefreshing, timer == nil, !isClosed, !watches.isEmpty || !waiters.isEmpty else {
      return
    }
    let since = refreshedAt.map { loop.now &- $0 } ?? .max
    let interval = options.refreshInterval.nanoseconds
    let wait = since >= interval ? 0 : interval - since
    timer = loop.schedule(after: .nanoseconds(Int64(clamping: wait))) { [weak self] in
      self?.assumeIsolated { dashboard in
        dashboard.timer = nil
        _ = dashboard.loop.task(on: dashboard) { await dashboard.refresh() }
      }
    }
  }

  private func refresh() async {
    guard let reader, !isRefreshing, !isClosed else { return }
    isRefreshing = true
    refreshedAt = loop.now
    let views = Set(watches.keys).union(waiters.keys)
    let events = views.compactMap { if case .fanOut(let event) = $0 { event.text } else { nil } }
    await reader.refresh(events: events)
    isRefreshing = false
    guard !isClosed else { return }
    counts.count(isGood: reader.trouble == nil)
    answers = [:]
    for view in views { show(view) }
    refreshSoon()
  }

  /// Tells those who look at a view what is new, and those who wait for it what there is.
  private func show(_ view: DashboardView) {
    guard let answer = answer(to: view) else { return answer(view, .unknown) }
    answers[view] = answer
    self.answer(view, answer)
    guard var watch = watches[view] else { return }
    switch answer {
    case .state(let state):
      let body = timeless(view)
      guard body != watch.body else { return }
      watch.body = body
      watches[view] = watch
      let event = ServerSentEvents.state(state)
      for stream in watch.streams.values { stream.send(event) }
    // It was forgotten meanwhile: who comes back is told so.
    case .unknown: for stream in watch.streams.values { stream.end() }
    case .unreadable: break
    }
  }

  private func answer(_ view: DashboardView, _ answer: DashboardAnswer) {
    for waiter in waiters.removeValue(forKey: view) ?? [] { waiter.resume(returning: answer) }
  }

  // MARK: JSON

  /// By what was read last; nil: that was not read.
  private func answer(to view: DashboardView) -> DashboardAnswer? {
    guard let reader else { return nil }
    guard let readAt = reader.readAt else {
      return reader.trouble.map { .unreadable($0) }
    }
    guard let members = reader.members(of: view) else {
      guard reader.isRead(view) else { return reader.trouble.map { .unreadable($0) } }
      return .unknown
    }
    let times: [(String, JSONValue)] = [
      ("now_ms", .integer(options.wallClock())), ("as_of_ms", .integer(readAt)),
    ]
    return .state(bytes(times + trouble + members))
  }

  /// The part that is compared, so that only changes are sent.
  private func timeless(_ view: DashboardView) -> [UInt8] {
    bytes(trouble + (reader?.members(of: view) ?? []))
  }

  private var trouble: [(String, JSONValue)] {
    [("trouble", JSONValue(optional: reader?.trouble))]
  }

  private func bytes(_ members: [(String, JSONValue)]) -> [UInt8] {
    JSONText.bytes(.object(JSONObject(members)))
  }
}

extension Dashboard {
  /// `/dashboard/config`: what the page must know before it may ask for more.
  package nonisolated var configuration: [UInt8] {
    JSONText.bytes(
      .object(
        JSONObject([
          ("version", .string(options.version)), ("mode", .string(options.mode.rawValue)),
          ("needs_key", .bool(options.needsKey)), ("can_act", .bool(options.mode == .api)),
          ("now_ms", .integer(options.wallClock())),
        ])))
  }

  /// Templates made for a user and an event; nil where this process has none.
  /// - Parameter profile: of the user.
  package func templates(
    document: [UInt8]?, profile: [(name: String, value: String)]?
  ) -> [UInt8] {
    let now = options.wallClock()
    var occasion = TemplateSamples.Occasion()
    occasion.document = document
    occasion.profile = profile
    return bytes([
      ("now_ms", .integer(now)), ("as_of_ms", .integer(now)), ("trouble", .null),
      ("templates", TemplateView.json(options.templates.map { $0.make(occasion) })),
    ])
  }
}

/// The lines of a `text/event-stream` (WHATWG HTML, section 9.2).
enum ServerSentEvents {
  static let contentType = "text/event-stream"

  static func state(_ json: [UInt8]) -> [UInt8] {
    Array("event: state\ndata: ".utf8) + json + Array("\n\n".utf8)
  }

  /// A comment at least each 5 s, with a second to spare.
  static let options = HTTPStateStream.Options(
    alive: Array(": alive\n\n".utf8), aliveInterval: .seconds(4),
    farewell: Array("event: gone\ndata: {}\n\n".utf8))
}
