import Devices
import EventLoop
import HTTPServer
import Keyspace
import Record
import Redis
import TLS
import Telemetry
import Text
import Traces

/// Handles requests from head to answer: authentication, permissions, rate limits, the work itself,
/// and the audit. Lives on the loop of its server and its Redis client.
package actor APIService {
  private let options: APIOptions
  private let loop: EventLoop
  private let shared: APISharedState
  private let imports: ImportJobs
  private var keys: APIKeyRing
  private var router = APIRouter([])
  /// Routes for programs; the router also has those of the dashboard's page.
  private var documented: [APIRoute] = []
  private var redis: RedisClient?
  private var answers: IdempotentAnswers?
  private var metrics = APIMetrics()
  /// nil: nobody wants to know.
  private let audit: APIAudit?
  /// Of requests, which must differ and need not be secret: each thread has a seed of its own.
  private var madeUpIDs: SplitMix64

  package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  package init(_ options: APIOptions, _ shared: APISharedState, loop: EventLoop) {
    self.options = options
    self.shared = shared
    self.loop = loop
    madeUpIDs = SplitMix64(seed: loop.randomNumber())
    keys = options.keys
    audit = options.audit.map { APIAudit(log: $0, shared: shared) }
    imports = ImportJobs(
      loop: loop, options: options, limit: shared.importLimit, tell: shared.tell)
  }

  package func start() {
    let log = options.log
    let redis = RedisClient(options: options.redis, loop: loop) { line in
      log.warning("redis: \(line)")
    }
    redis.start()
    self.redis = redis
    let door = EventDoor(options, writer: shared.events)
    answers = IdempotentAnswers(redis: redis, keyspace: options.keyspace)
    let now = options.wallClock
    let plainSet = options.plainSetKey.map { PlainSetPattern($0) }
    let registry = DeviceRegistry(
      redis: redis, keyspace: options.keyspace, plainSet: plainSet, tell: shared.tell)
    let users = UserRoutes(
      registry: registry,
      audiences: AudienceReader(redis: redis, keyspace: options.keyspace, plainSet: plainSet),
      erasure: UserErasure(redis: redis, keyspace: options.keyspace), erasures: shared.erasures)
    let record = RecordStage(redis: redis, keyspace: options.keyspace)
    let fanOuts = FanOutRoutes(
      record: record, maximumSendAhead: options.ingest.maximumSendAhead, now: now)
    let tagLists = AudienceReader(redis: redis, keyspace: options.keyspace.ofTags)
    let tags = TagRoutes(registry: registry, tags: tagLists)
    let traces = TraceRoutes(
      record: record, reader: TraceReader(redis: redis, options: options.trace), now: now)
    let live = DashboardRoutes(
      dashboard: shared.dashboard, registry: registry, redis: redis, keyspace: options.keyspace,
      streams: options.needsKey ? shared.streamLimit : nil)
    let devices = DeviceRoutes(registry: registry, rules: options.subscriptions, now: now)
    let deadLetters = DeadLetterRoutes(options, shared, redis: redis, loop: loop)
    documented =
      devices.routes + users.routes + tags.routes + door.routes + fanOuts.routes + traces.routes
      + (options.isReadOnly ? [] : deadLetters.routes)
      + ImportRoutes(jobs: imports, options: options).routes + live.routes
      + [OpenAPI.route]
    if options.isReadOnly { documented = documented.filter { !$0.isChange } }
    router = APIRouter(documented + live.pages)
  }

  /// Names once, when Redis has answered, every command that its user may not use: an API of a
  /// newer version may need more than it was granted. One thread does it for all.
  func namePermissions() {
    loop.task(on: self) { await self.lookAtPermissions() }
  }

  private func lookAtPermissions() async {
    guard let redis else { return }
    do throws(RedisError) {
      let missing = try await CommandPermissions.missing(
        redis, DevicePermissions.commandsOfAPI(options.keyspace.probe), options.redis)
      guard !missing.isEmpty else { return }
      options.log.error(
        "our Redis user may not use commands that the API needs: docs/redis.md lists them",
        ["commands": .text(missing.joined(separator: ", "))])
    } catch {
      // Redis is away: that is said elsewhere.
      guard error.isTransient else { return }
      loop.schedule(after: Self.permissionsPause) { [weak self] in
        self?.assumeIsolated { $0.namePermissions() }
      }
    }
  }

  private static let permissionsPause: Duration = .seconds(1)

  package func close() async {
    redis?.close()
    redis = nil
    await imports.close()
  }

  /// Keys that are good from now on, and no others.
  func use(_ keys: APIKeyRing) { self.keys = keys }

  func health() async -> [HealthPart] {
    let trouble = await redis?.trouble
    let ofRedis = HealthPart("redis", trouble: redis == nil ? "it does not answer" : trouble)
    guard options.needsKey else { return [ofRedis] }
    return [
      ofRedis,
      HealthPart("keys", trouble: keys.keys.isEmpty ? "there is no key: nobody may ask" : nil),
    ]
  }

  var currentMetrics: APIMetrics {
    get async {
      var metrics = metrics
      metrics.imported = await imports.rows
      return metrics
    }
  }

  var patterns: [(method: String, pattern: String, scope: APIScope?)] {
    documented.map { ($0.method, $0.pattern, $0.scope) }
  }
}

// MARK: - The head

extension APIService {
  /// Decides from the head whether to read the body. A small body is read before the key is
  /// checked, a large one only afterwards, and one that no route takes not at all.
  package func screen(_ head: HTTPRequest) -> HTTPScreening {
    let id = requestID(head)
    var found: APIRoute?
    do throws(Problem) {
      if let route = router.streamed(head.method, head.segments), let limit = route.streamedWithin {
        found = route
        _ = try holder(of: head, for: route, [:], id)
        return .stream(
          HTTPBodyBounds(
            maximumBytes: route.maximumBodyBytes, limit: limit,
            bytesPerSecond: options.imports.minimumRate))
      }
      let length = head.headers["content-length"].map { Int($0) ?? .max } ?? 0
      let isChunked = head.headers["transfer-encoding"] != nil
      guard isChunked || length > 0 else { return .withoutBody }
      let (route, names) = try route(of: head)
      found = route
      guard route.takesBody else {
        throw Problem(.malformedRequest, "\(head.method) \(route.pattern) takes no body")
      }
      if isChunked || length > APIRoute.usualBodyBytes {
        _ = try holder(of: head, for: route, names, id)
      }
      guard length <= route.maximumBodyBytes else {
        throw Problem(.tooLarge, "a body has at most \(route.maximumBodyBytes) bytes here")
      }
      return .read(maximumBodyBytes: route.maximumBodyBytes)
    } catch {
      let response = error.response(requestID: id)
      count(head, found, response, nanoseconds: nil)
      return .refuse(Self.finished(response, id))
    }
  }

  /// The server refuses this without asking us: no request, one that is too slow, or too much.
  nonisolated func refusal(_ status: Int, _ reason: String) -> HTTPResponse {
    assumeIsolated { $0.metrics.count("-", "-", status, nanoseconds: nil) }
    return Problem.refusal(status, reason)
  }

  private func route(
    of request: HTTPRequest
  ) throws(Problem) -> (route: APIRoute, names: [String: String]) {
    switch router.match(request.method, request.segments) {
    case .route(let route, let names): return (route, names)
    case .methods(let methods):
      throw Problem(
        .methodNotAllowed, "what can be done here: \(methods.joined(separator: ", "))",
        headers: ["Allow": methods.joined(separator: ", ")])
    case .nothing: throw Problem(.notFound, "GET /openapi.json lists what is here")
    }
  }

  /// Returns the key that the request shows. A client that keeps showing bad keys loses its
  /// connection each time; a good key is never refused because of others' attempts from the same
  /// address.
  private func holder(
    of request: HTTPRequest, for route: APIRoute, _ names: [String: String], _ id: String
  ) throws(Problem) -> APIKey {
    guard let scope = route.scope else { return Self.anybody }
    guard options.needsKey else {
      try Self.checkHost(request)
      return Self.anybody
    }
    let now = loop.clock
    guard let key = Self.shown(request).flatMap({ keys.key(shown: $0) }) else {
      var headers = ["WWW-Authenticate": "Bearer realm=\"fanfare\""]
      let wait = shared.strangers.withLock { $0.take(request.peer, now: now) }
      audit?.tellRefusal(id, nil, request, route, names, 401, now: now)
      if wait != nil { headers["Connection"] = "close" }
      throw Problem(
        .unauthenticated, "send Authorization: Bearer and a key; `fanfare api-key` makes one",
        headers: headers)
    }
    guard key.scope >= scope else {
      audit?.tellRefusal(id, key, request, route, names, 403, now: now)
      throw Problem(
        .forbidden,
        "this needs a key of scope \(scope.rawValue); \(key.name) is of \(key.scope.rawValue)")
    }
    return key
  }

  /// Without keys, a page of another site must not reach us under a name of its own that leads to
  /// this machine (DNS rebinding).
  private static func checkHost(_ request: HTTPRequest) throws(Problem) {
    let host = request.headers["host"] ?? ""
    let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } : host.prefix { $0 != ":" }
    let isIPv4 = name.utf8.allSatisfy { $0.isASCIIDigit || $0 == UInt8(ascii: ".") }
    guard name == "localhost" || name == "[::1" || (isIPv4 && name.hasPrefix("127.")) else {
      throw Problem(
        .forbidden,
        "without keys only this machine's own addresses are answered, such as http://127.0.0.1")
    }
  }

  private static let anybody = APIKey(
    name: "-", scope: .readOnly, digest: SecretDigest(of: []))

  private static func shown(_ request: HTTPRequest) -> String? {
    guard let header = request.headers["authorization"],
      String(header.utf8.prefix(7))?.isSame(ignoringASCIICaseOf: "bearer ") == true
    else { return nil }
    return String(header.dropFirst(7).drop { $0 == " " })
  }

  private static func tooMany(_ what: String, _ seconds: Double) -> Problem {
    let wait = max(1, Int(seconds.rounded(.up)))
    return Problem(
      .tooManyRequests, "\(what): ask again in \(wait) s", headers: ["Retry-After": String(wait)])
  }
}

// MARK: - The answer

extension APIService {
  package func answer(_ request: HTTPRequest) async -> HTTPResponse {
    let began = loop.clock
    let id = requestID(request)
    var found: APIRoute?
    var asked: APIRequest?
    var response: HTTPResponse
    do throws(Problem) {
      let (route, names) = try route(of: request)
      found = route
      let key = try holder(of: request, for: route, names, id)
      let known = APIRequest(
        http: request, names: names, key: key, id: id, maximumBodyBytes: route.maximumBodyBytes)
      asked = known
      // The lists of no other request are too long to be kept.
      if route.streamedWithin != nil { audit?.follow(known, route) }
      if route.scope != nil,
        let wait = shared.rates.withLock({ $0.take(key.name, now: began) })
      {
        throw Self.tooMany(
          "\(key.name) may send \(options.requestsPerSecond) requests a second", wait)
      }
      guard request.body.count <= route.maximumBodyBytes else {
        throw Problem(.tooLarge, "a body has at most \(route.maximumBodyBytes) bytes here")
      }
      response = try await once(route, known).http
    } catch {
      response = error.response(requestID: id)
      if error.code == .internalError {
        options.log.error(
          "a request failed", ["route": .text(found?.pattern ?? "-"), "why": .text(error.detail)])
      }
    }
    let took = loop.clock &- began
    count(request, found, response, nanoseconds: took)
    if let found, found.isChange, let asked {
      audit?.tell(asked, found, response.status, nanoseconds: took)
    }
    return Self.finished(response, id)
  }

  /// With an idempotency key, what was asked before is answered as it was.
  private func once(_ route: APIRoute, _ request: APIRequest) async throws(Problem) -> APIResponse {
    guard route.method == "POST", route.streamedWithin == nil, let answers,
      let given = request.http.headers["idempotency-key"]
    else { return try await route.handle(request) }
    guard (1...128).contains(given.utf8.count), given.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
    else {
      throw Problem(.malformedRequest, "Idempotency-Key is 1 to 128 visible ASCII characters")
    }
    let name = IdempotentAnswers.name(given, of: request.key, route)
    let fingerprint = IdempotentAnswers.fingerprint(request.http)
    let claim = IdempotentAnswers.claim(of: fingerprint, loop.randomNumber())
    let answer: APIResponse
    do throws(Problem) {
      if case .answered(let kept) = try await answers.claim(name, fingerprint, as: claim) {
        request.notes.add("replayed", "true")
        return kept
      }
      answer = try await route.handle(request)
    } catch {
      // The client may correct a refused request, and repeat a failed one.
      await withdraw(name, claim, triesLeft: Self.maximumWithdrawals)
      throw error
    }
    try? await answers.keep(answer, name, fingerprint)
    return answer
  }

  /// A Redis that did not answer may note the claim later: then it is withdrawn later, too.
  private func withdraw(_ name: String, _ claim: String, triesLeft: Int) async {
    guard let answers, redis != nil else { return }
    do throws(RedisError) {
      try await answers.release(name, claim)
    } catch {
      guard triesLeft > 0, error.isTransient else { return }
      loop.schedule(after: .seconds(1)) { [weak self] in
        self?.assumeIsolated { service in
          _ = service.loop.task(on: service) {
            await service.withdraw(name, claim, triesLeft: triesLeft - 1)
          }
        }
      }
    }
  }

  private static let maximumWithdrawals = 60

  /// - Parameter route: nil: there is none, and whatever method was sent makes no series.
  private func count(
    _ request: HTTPRequest, _ route: APIRoute?, _ response: HTTPResponse, nanoseconds: UInt64?
  ) {
    let method = route == nil ? "-" : request.method
    metrics.count(route?.pattern ?? "-", method, response.status, nanoseconds: nanoseconds)
  }

  private static func finished(_ response: HTTPResponse, _ id: String) -> HTTPResponse {
    var response = response
    response.headers["X-Request-Id"] = id
    if response.headers["Cache-Control"] == nil { response.headers["Cache-Control"] = "no-store" }
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
  }

  /// The caller's, when it is fit for a log line.
  private func requestID(_ request: HTTPRequest) -> String {
    if let given = request.headers["x-request-id"], (1...64).contains(given.utf8.count),
      given.utf8.allSatisfy({ $0.isASCIIWord || $0 == 0x2D || $0 == 0x2E })
    {
      return given
    }
    return Hexadecimal.text(madeUpIDs.next(), digits: 16)
  }
}

/// The audit lines of requests: one for each change, and one for each request that was refused for
/// want of a key or a scope.
struct APIAudit: Sendable {
  let log: Log
  let shared: APISharedState

  func tell(
    _ request: APIRequest, _ route: APIRoute, _ status: Int, nanoseconds: UInt64
  ) {
    var fields = head(request.id, request.key.name, request.http, route)
    fields["status"] = .integer(status)
    fields["micros"] = .integer(Int(nanoseconds / 1000))
    add(request.names, to: &fields)
    var further: [(name: String, pieces: ArraySlice<String>)] = []
    for (name, value) in request.notes.all {
      switch value {
      case .text(let text): fields[name] = .text(text)
      case .token(let token): fields[name] = log.label(token)
      case .list(let list):
        let pieces = AuditNotes.pieces(of: list)
        fields[name] = .text(pieces[0])
        further.append((name, pieces.dropFirst()))
      }
    }
    log.info("change", fields)
    let request = head(request.id, request.key.name, request.http, route)
    for (name, pieces) in further { tellFurther(name, pieces, of: request) }
  }

  /// Lists that are too long to be kept are told while the request is worked on.
  func follow(_ request: APIRequest, _ route: APIRoute) {
    let head = head(request.id, request.key.name, request.http, route)
    request.notes.writeAtOnce { [self] name, list in
      tellFurther(name, AuditNotes.pieces(of: list)[...], of: head)
    }
  }

  private func tellFurther(
    _ name: String, _ pieces: ArraySlice<String>, of request: LogFields
  ) {
    for piece in pieces {
      var fields = request
      fields[name] = .text(piece)
      log.info("change goes on", fields)
    }
  }

  /// - Parameters:
  ///   - key: whose scope does not do; nil: none that is good was shown.
  func tellRefusal(
    _ id: String, _ key: APIKey?, _ request: HTTPRequest, _ route: APIRoute,
    _ names: [String: String], _ status: Int, now: UInt64
  ) {
    let somebody = key.map { RefusedRequests.Somebody.key($0.name) } ?? .stranger(request.peer)
    guard shared.refused.withLock({ $0.admit(somebody, now: now) }) else { return }
    var fields = head(id, key?.name ?? "-", request, route)
    fields["status"] = .integer(status)
    fields["peer"] = .text(request.peer.description)
    add(names, to: &fields)
    log.info("refused", fields)
  }

  private func head(
    _ id: String, _ key: String, _ request: HTTPRequest, _ route: APIRoute
  ) -> LogFields {
    [
      "request": .text(id), "key": .text(key), "method": .text(request.method),
      "route": .text(route.pattern),
    ]
  }

  private func add(_ names: [String: String], to fields: inout LogFields) {
    for (name, value) in names.sorted(by: { $0.key < $1.key }) {
      fields[name] = name.hasSuffix("token") ? log.label(value) : .text(value)
    }
  }
}
