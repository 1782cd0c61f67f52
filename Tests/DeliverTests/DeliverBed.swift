import EventLoop
import Fixtures
import Model
import Synchronization
import Testing
import Threads
import Transport

@testable import APNs
@testable import Deliver

/// A stage and the servers that it sends to, on one loop, with a clock that the test moves.
final class DeliverBed {
  let server = FakeServer()
  /// Of the sandbox; no route leads to it unless the test asks for one.
  let sandbox = FakeServer()
  let loop: EventLoop
  let tally = SegmentTally()
  private(set) var stage: DeliverStage
  let clock: ManualClock
  let notices: Notices
  let tokens: ProviderTokenSource
  private(set) var settledBatches = 0
  private let options: DeliverOptions
  let canSign = Flag(true)
  static let certificates = Result { try TestCertificates() }

  /// Where the sandbox's pushes go.
  enum Sandbox {
    case none, served
    /// To a port that refuses connections.
    case refused
  }

  convenience init(
    _ loop: EventLoop, sandbox: Sandbox = .none, credentials: AppCredentials? = nil,
    configure: (inout DeliverOptions) -> Void = { _ in }
  ) throws {
    try self.init(
      loop, sandbox: sandbox, credentials: credentials, prepare: { _ in }, configure: configure)
  }

  init(
    _ loop: EventLoop, sandbox place: Sandbox = .none, credentials: AppCredentials? = nil,
    prepare: (FakeServer) -> Void,
    configure: (inout DeliverOptions) -> Void = { _ in }
  ) throws {
    self.loop = loop
    let certificates = try Self.certificates.get()
    prepare(server)
    try server.start(on: loop, tls: certificates.server)
    if place != .none { try sandbox.start(on: loop, tls: certificates.server) }
    if place == .refused { sandbox.stop() }
    let clock = ManualClock()
    let notices = Notices()
    let canSign = canSign
    self.clock = clock
    self.notices = notices
    var options = DeliverOptions(
      wallClock: { clock.milliseconds.load(ordering: .relaxed) },
      report: { notice in notices.all.withLock { $0.append(notice) } })
    options.routes[.production] = RouteTarget(
      endpoint: Endpoint(host: "127.0.0.1", port: server.port), tls: certificates.client)
    if place != .none {
      options.routes[.sandbox] = RouteTarget(
        endpoint: Endpoint(host: "127.0.0.1", port: sandbox.lastPort), tls: certificates.client)
    }
    options.retry = RetryPolicy(initial: .milliseconds(2), maximum: .milliseconds(20))
    configure(&options)
    let key = ProviderKey(keyID: "KEYKEYKEY1", teamID: "TEAMTEAM01") { _ in
      guard canSign.value.load(ordering: .relaxed) else { throw SigningRefused() }
      return [UInt8](repeating: 7, count: 64)
    }
    tokens = ProviderTokenSource(
      key: key, lifetime: .seconds(50 * 60),
      monotonic: { EventLoop.monotonicNanoseconds() })
    self.options = options
    stage = DeliverStage(
      options: options, credentials: credentials ?? AppCredentials(APNsCredentials.key(tokens)),
      loop: loop, randomNumber: { .random(in: .min ... .max) })
    stage.start()
  }

  /// Sends with these accounts instead, before anything is sent.
  func use(_ credentials: AppCredentials) {
    stage.stop()
    stage = DeliverStage(
      options: options, credentials: credentials, loop: loop,
      randomNumber: { .random(in: .min ... .max) })
    stage.start()
  }

  func stop() {
    stage.stop()
    server.stop()
    sandbox.stop()
    #expect(server.faults == [])
    #expect(sandbox.faults == [])
  }

  /// A sealed batch for production devices with these tokens.
  func batch(_ tokens: [String], expiresIn milliseconds: Int64 = 600_000) -> PushBatch {
    batch(tokens.map { (.production, $0) }, tally, expiresIn: milliseconds)
  }

  /// A sealed batch for these devices, in a segment of its own.
  func batch(
    _ devices: [(destination: Destination, token: String)], _ tally: SegmentTally,
    topic: String = "a.b", expiresIn milliseconds: Int64 = 600_000,
    history: PushHistory = PushHistory()
  ) -> PushBatch {
    let headers = PushHeaders(
      pushType: .alert, priority: 10, topic: topic, collapseID: nil, expiration: 0,
      expiresAt: clock.milliseconds.load(ordering: .relaxed) + milliseconds)
    return batch(devices, tally, headers, history: history)
  }

  func batch(
    _ devices: [(destination: Destination, token: String)], _ tally: SegmentTally,
    _ headers: PushHeaders, event: String = "e", history: PushHistory = PushHistory()
  ) -> PushBatch {
    let batch = PushBatch(event: event, headers: headers, tally: tally)
    let page = RecipientPage(fieldNames: [])
    let user = page.bytes.append(utf8: "u1")
    for (destination, token) in devices {
      let member = page.bytes.append(utf8: destination.memberPrefix + headers.topic + ":" + token)
      batch.append(
        recipient: .init(user: user, firstBinding: 0, bindingCount: 1),
        binding: .init(
          member: member, token: member.last(token.utf8.count), destination: destination),
        of: page, payload: batch.bytes.append(utf8: #"{"aps":{"alert":"\#(event) \#(token)"}}"#))
      tally.pushes += 1
    }
    for index in devices.indices { batch.setHistory(index, history) }
    batch.seal()
    batch.whenSettled = { [weak self] in self?.settledBatches += 1 }
    return batch
  }

  /// Admits two thousand pushes of one segment, in four batches.
  func admitTwoThousand() async -> SegmentTally {
    let tally = SegmentTally()
    for _ in 0..<4 { await stage.admit(batch(hexadecimal(500).map { (.production, $0) }, tally)) }
    return tally
  }

  /// Waits on the loop's clock until `condition` holds, a minute and a half at most.
  func until(_ what: Comment, _ condition: () -> Bool) async {
    let deadline = ContinuousClock.now + .seconds(90)
    while !condition(), ContinuousClock.now < deadline { await loop.wait(.milliseconds(4)) }
    #expect(condition(), what)
  }
}

/// Runs a test's body on a loop of its own.
func onLoop<T: Sendable>(
  _ body: @Sendable (isolated LoopActor, EventLoop) async throws -> T
) async throws -> T {
  let loop = EventLoop(name: "test")
  defer { loop.stop() }
  return try await body(LoopActor(loop), loop)
}

func hexadecimal(_ count: Int) -> [String] {
  (0..<count).map { "00" + String($0 + 4096, radix: 16) }
}

/// What a test turns on and off.
final class Flag: Sendable {
  let value: Atomic<Bool>
  init(_ value: Bool) { self.value = Atomic(value) }
}

/// How often a route has looked what can be sent: each time it asks for the time.
final class Looks: Sendable {
  private let number = Atomic<Int>(0)
  var soFar: Int { number.load(ordering: .relaxed) }

  func count(_ options: inout DeliverOptions) {
    let clock = options.wallClock
    options.wallClock = {
      self.number.wrappingAdd(1, ordering: .relaxed)
      return clock()
    }
  }
}

private struct SigningRefused: Error {}

final class Notices: Sendable {
  let all = ThreadLock<[DeliverNotice]>([])
  func count(_ isWanted: (DeliverNotice) -> Bool) -> Int {
    all.withLock { $0.count(where: isWanted) }
  }
  /// Topics whose credentials were refused.
  var holds: Int {
    count {
      if case .obstacleBegan(let obstacle) = $0 {
        obstacle.kind == .credentialsRefused
      } else {
        false
      }
    }
  }
  /// Why connections ended.
  var ends: [String] {
    all.withLock { notices in
      notices.compactMap { if case .disconnected(_, let reason, _) = $0 { reason } else { nil } }
    }
  }
  /// Streams that were given up.
  var unanswered: Int {
    all.withLock {
      $0.reduce(0) { if case .unanswered(_, let pushes) = $1 { $0 + pushes } else { $0 } }
    }
  }
  var disconnects: Int { count { if case .disconnected = $0 { true } else { false } } }
}

/// Of all platforms.
extension DeliverStage {
  private var total: PlatformFigures {
    figures.values.reduce(into: PlatformFigures()) { $0.add($1) }
  }

  var inFlight: Int { total.inFlight }
  var openConnections: Int { total.openConnections }
  var connectionCounts: ConnectionCounts { total.connectionCounts }
  var answerCounts: AnswerCounts { total.answerCounts }
  var unknownAnswers: BoundedCounts<UnknownAnswer> { total.unknownAnswers }
}

extension UInt16 {
  /// The number of the route that is made first.
  static let production: UInt16 = 0
}
