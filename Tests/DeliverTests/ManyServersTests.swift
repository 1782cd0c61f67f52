import EventLoop
import HTTP2
import Model
import Testing
import Threads
import Transport

@testable import APNs
@testable import Deliver

/// A platform with many servers: a token names its own before the first slash.
private struct Servers: PushServices {
  let platform = Platform.webpush.name
  let ports: [String: Int]
  let account: ServerAccount
  /// Calls of `service`.
  let made: ThreadLock<Int>

  func origin(in token: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    token.firstIndex(of: UInt8(ascii: "/")).map { UnsafeRawBufferPointer(rebasing: token[..<$0]) }
  }

  func allows(_ origin: String) -> Bool { ports[origin] != nil }

  func service(at origin: String, _ target: RouteTarget) -> PushService? {
    made.withLock { $0 += 1 }
    guard let port = ports[origin] else { return nil }
    var target = target
    target.endpoint = Endpoint(host: "127.0.0.1", port: port)
    return PushService(target: target, account: account)
  }
}

/// Apple's account under another platform's name.
private struct ServerAccount: PlatformAccount {
  let apple: APNsCredentials
  let platform = Platform.webpush.name
  var keptBodyBytes: Int { apple.keptBodyBytes }

  func makeRequestWriter(
    authority: String, slots: Int
  ) throws(HTTP2Error) -> any RequestWriter {
    try apple.makeRequestWriter(authority: authority, slots: slots)
  }
  func encode(_ headers: PushHeaders, _ credential: any Credential) -> SharedHeaders {
    apple.encode(headers, credential)
  }
  func meaning(of answer: PlatformAnswer) -> AnswerMeaning {
    let meaning = apple.meaning(of: answer)
    return AnswerMeaning(meaning.disposition, counted: meaning.refusal, mayBeOfDevice: true)
  }
  func subject(of reason: RejectionReason) -> RetrySubject? { apple.subject(of: reason) }
  func reason(ofGoAway debug: [UInt8]) -> String? { nil }
  func credential(now: Int64) throws(CredentialProblem) -> any Credential {
    try apple.credential(now: now)
  }
  func replacement(for expired: any Credential, now: Int64) -> (any Credential)? {
    apple.replacement(for: expired, now: now)
  }
  func makeShownCredentials() -> any ShownCredentials { apple.makeShownCredentials() }
}

@Suite struct ManyServersTests {
  private static let topic = PushRoute(destination: .webpush, topic: "a.b")

  private func bed(
    _ loop: EventLoop, sandbox: DeliverBed.Sandbox = .served, more: [String] = [],
    invented: [String] = [], streams: Int = 100, made: ThreadLock<Int> = ThreadLock(0)
  ) throws -> DeliverBed {
    let bed = try DeliverBed(loop, sandbox: sandbox) {
      $0.routes[.webpush] = $0.routes[.production]
      $0.closedAfter = .milliseconds(20)
      $0.connectionsPerRoute = 1
      $0.mostConnectionsPerRoute = 1
      $0.streamsPerConnection = streams
    }
    let others =
      more.map { ($0, bed.server.port) } + invented.map { ($0, bed.sandbox.lastPort) }
    bed.use(
      AppCredentials(
        Servers(
          ports: ["one": bed.server.port, "two": bed.sandbox.lastPort]
            .merging(others) { known, _ in known },
          account: ServerAccount(apple: APNsCredentials.key(bed.tokens)), made: made)))
    return bed
  }

  private func devices(_ tokens: String...) -> [(Destination, String)] {
    tokens.map { (.webpush, $0) }
  }

  @Test func eachServerGetsItsOwnByARouteThatItsFirstPushMakes() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      #expect(bed.stage.routes.all.isEmpty)
      await bed.stage.admit(
        bed.batch(devices("one/a", "two/b", "one/c", "no", "three/d"), bed.tally))
      await bed.until("settled") { bed.tally.settled == 5 }
      #expect(bed.tally.accepted == 3 && bed.tally.rejected.reduce(0, +) == 2)
      #expect(bed.server.requests.count == 2 && bed.sandbox.requests.count == 1)
      #expect(bed.stage.routes.all.count == 2)
    }
  }

  /// A deploy ends a worker while batches are on their way.
  @Test func aRouteThatIsMadeWhileTheWorkerLeavesSendsNothing() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      bed.stage.leave()
      await bed.stage.admit(bed.batch(devices("one/a", "two/b"), bed.tally))
      #expect(bed.tally.stragglers.count == 2 && bed.server.requests.isEmpty)
      bed.stage.stop()
      let late = SegmentTally()
      await bed.stage.admit(bed.batch(devices("one/c"), late))
      #expect(late.settled == 0 && bed.server.requests.isEmpty)
    }
  }

  /// It was made with another sender's key. Others are taken after its refusal, so that it is
  /// known what that means.
  @Test func aDeviceThatAloneRefusesOurCredentialsIsSetAside() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop, streams: 4)
      defer { bed.stop() }
      bed.server.decide = { request in
        request.token.hasSuffix("bad") ? .answer(403, "InvalidProviderToken") : .answer(200)
      }
      let tokens = ["one/bad"] + (0..<20).map { "one/a\($0)" }
      await bed.stage.admit(bed.batch(tokens.map { (.webpush, $0) }, bed.tally))
      await bed.until("settled") { bed.tally.settled == 21 }
      #expect(bed.tally.accepted == 20 && bed.tally.verdicts.count == 1)
      #expect(bed.tally.verdicts.first?.member.hasSuffix("one/bad") == true)
    }
  }

  @Test func oneThatRefusesConnectionsHoldsUpNoOther() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop, sandbox: .refused)
      defer { bed.stop() }
      let stuck = SegmentTally()
      await bed.stage.admit(bed.batch(devices("two/a", "two/b"), stuck))
      await bed.until("closed") { bed.stage.isClosed(Self.topic) }
      #expect(bed.stage.obstacles.map(\.credentials) == ["two"])
      await bed.stage.admit(bed.batch(devices("one/a"), bed.tally))
      await bed.until("settled") { bed.tally.settled == 1 }
      // One of its servers is open.
      #expect(stuck.settled == 0 && !bed.stage.isClosed(Self.topic))
      // Its stragglers are worked on a few at a time.
      #expect(bed.stage.yields(Self.topic))
      bed.stage.postponeWaiting(of: stuck)
      #expect(stuck.stragglers.map(\.member).count == 2)
    }
  }

  /// Whoever subscribes may name servers that nobody else uses. All of them are busy here, so the
  /// push to one more leaves its segment; when one is not, it makes room.
  @Test func thereAreBoundedlyManyRoutesAndNoPushIsLostForThat() async throws {
    let names = (0..<LaneRoutes.mostServers).map { "s\($0)" }
    try await onLoop { _, loop in
      let bed = try bed(loop, more: names)
      defer { bed.stop() }
      bed.server.holdsAnswers = true
      let busy = SegmentTally()
      // As many at a time as are tried that nobody knows.
      for first in stride(from: 0, to: names.count, by: UnopenedServers.most) {
        let some = names[first..<min(first + UnopenedServers.most, names.count)]
        await bed.stage.admit(bed.batch(some.map { (.webpush, $0 + "/a") }, busy))
        await bed.until("all are in flight") { bed.server.requests.count == first + some.count }
      }
      await bed.stage.admit(bed.batch(devices("one/a"), bed.tally))
      #expect(bed.tally.settled == 0 && bed.tally.stragglers.count == 1)
      #expect(bed.stage.routes.all.count == names.count)
      bed.server.holdsAnswers = false
      bed.server.release()
      await bed.until("answered") { busy.accepted == names.count }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices("one/b"), tally))
      await bed.until("settled") { tally.accepted == 1 }
      #expect(bed.stage.routes.all.count == names.count)
    }
  }

  @Test func aRouteWithoutPushesEndsAndWhatItCountedStays() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      await bed.stage.admit(bed.batch(devices("one/a", "two/b"), bed.tally))
      await bed.until("settled") { bed.tally.settled == 2 }
      let routes = bed.stage.routes
      routes.forget(at: loop.now)
      #expect(routes.all.count == 2)
      let answers = bed.stage.answerCounts
      routes.forget(at: loop.now &+ Evidence.memory + 1_000_000_000)
      #expect(routes.all.isEmpty && bed.stage.answerCounts == answers)
      await bed.stage.admit(bed.batch(devices("two/c"), bed.tally))
      await bed.until("settled") { bed.tally.settled == 3 }
      #expect(bed.tally.accepted == 3 && routes.all.count == 1)
    }
  }

  /// Whoever subscribes may invent servers. A few of them are tried at a time; the others' pushes
  /// leave their segment, nothing is kept of those servers, and one that was open before waits for
  /// none of them.
  @Test func inventedServersAreTriedAFewAtATime() async throws {
    let names = (0...UnopenedServers.most).map { "invented\($0)" }
    try await onLoop { _, loop in
      let made = ThreadLock(0)
      let bed = try bed(loop, sandbox: .refused, invented: names, made: made)
      defer { bed.stop() }
      let routes = bed.stage.routes
      await bed.stage.admit(bed.batch(devices("one/a"), bed.tally))
      await bed.until("settled") { bed.tally.accepted == 1 }
      routes.forget(at: loop.now &+ Evidence.memory + 1_000_000_000)
      #expect(routes.all.isEmpty)

      let invented = SegmentTally()
      await bed.stage.admit(bed.batch(names.map { (.webpush, $0 + "/a") }, invented))
      #expect(routes.all.count == UnopenedServers.most && invented.stragglers.count == 1)
      #expect(invented.rejected.reduce(0, +) == 0 && invented.verdicts.isEmpty)
      #expect(made.withLock { $0 } == 1 + UnopenedServers.most)
      let figures = bed.stage.figures[Platform.webpush.name]
      #expect(figures?.serversOnTrial == UnopenedServers.most && figures?.turnedAway == 1)
      await bed.stage.admit(bed.batch(devices("one/b"), bed.tally))
      await bed.until("settled") { bed.tally.accepted == 2 }
      #expect(routes.all.count == UnopenedServers.most + 1)
    }
  }

  @Test func aTrialThatCameToNothingIsEvictedAndRests() async throws {
    let names = (0...UnopenedServers.most).map { "invented\($0)" }
    try await onLoop { _, loop in
      let bed = try bed(loop, sandbox: .refused, invented: names)
      defer { bed.stop() }
      let routes = bed.stage.routes
      let first = SegmentTally()
      await bed.stage.admit(bed.batch(names.dropLast().map { (.webpush, $0 + "/a") }, first))
      await bed.until("refused") { routes.all.allSatisfy { $0.cannotConnect } }
      bed.stage.postponeWaiting(of: first)
      #expect(first.stragglers.count == UnopenedServers.most)
      // The last one takes the place of the first, which rests.
      let later = SegmentTally()
      await bed.stage.admit(
        bed.batch(devices("invented\(UnopenedServers.most)/a"), later))
      #expect(later.stragglers.isEmpty && routes.all.count == UnopenedServers.most)
      await bed.stage.admit(bed.batch(devices("invented0/b"), later))
      #expect(later.stragglers.count == 1 && routes.all.count == UnopenedServers.most)
    }
  }
}

extension ManyServersTests {
  /// A client's nameserver may be slow, and a resolver looks up a bounded number of names.
  @Test func namesOfClientsHaveAResolverOfTheirOwn() {
    var target = RouteTarget(endpoint: Endpoint(host: "push.example", port: 443), tls: nil)
    #expect(target.transport(connectTimeout: .seconds(1)).names === NameResolver.system)
    target.refusesAddress = { _ in false }
    #expect(target.transport(connectTimeout: .seconds(1)).names === NameResolver.ofClients)
    #expect(NameResolver.ofClients !== NameResolver.system)
  }
}

/// Which servers rest, and which are known.
@Suite struct UnopenedServersTests {
  private let minute = UnopenedServers.rest

  @Test func aServerThatWasEvictedRests() {
    var servers = UnopenedServers()
    #expect(!servers.rests([1], at: 0))
    servers.ended([1], hasOpened: false, wasEvicted: false, at: 5)
    #expect(!servers.rests([1], at: 5))
    servers.ended([1], hasOpened: false, wasEvicted: true, at: 10)
    #expect(servers.rests([1], at: 9 + minute) && !servers.rests([1], at: 10 + minute))
    #expect(!servers.rests([2], at: 10) && !servers.hasOpened([1]))
    servers.ended([1], hasOpened: true, wasEvicted: true, at: 20)
    #expect(servers.hasOpened([1]) && !servers.rests([1], at: 20))
  }

  @Test(arguments: [true, false])
  func boundedlyManyAreRemembered(hasOpened: Bool) {
    var servers = UnopenedServers()
    let origins = (0...UnopenedServers.mostRemembered).map { [UInt8]("\($0)".utf8) }
    for origin in origins {
      servers.ended(origin, hasOpened: hasOpened, wasEvicted: true, at: 1)
    }
    let known = origins.filter { servers.hasOpened($0) || servers.rests($0, at: 2) }
    #expect(known == Array(origins.dropFirst()))
  }
  /// The one that was seen last is forgotten last, however early it was seen first.
  @Test(arguments: [true, false])
  func aServerThatIsSeenAgainIsRememberedForLonger(hasOpened: Bool) {
    var servers = UnopenedServers()
    let origins = (0...UnopenedServers.mostRemembered).map { [UInt8]("\($0)".utf8) }
    for origin in origins.dropLast() + [origins[0], origins[origins.count - 1]] {
      servers.ended(origin, hasOpened: hasOpened, wasEvicted: true, at: 1)
    }
    let known = origins.filter { servers.hasOpened($0) || servers.rests($0, at: 2) }
    #expect(known == origins.filter { $0 != origins[1] })
  }
}
