import Fixtures
import Model
import Synchronization
import Testing
import Threads

@testable import Deliver
@testable import FCM

/// Questions that wait until the test answers them.
private final class TokenServer: Sendable {
  private let waiting = ThreadLock<[(TokenRequest, CheckedContinuation<TokenReply, Never>)]>([])

  func exchange(_ request: TokenRequest) async -> TokenReply {
    await withCheckedContinuation { continuation in
      waiting.withLock { $0.append((request, continuation)) }
    }
  }

  var questions: Int { waiting.withLock { $0.count } }

  func answer(_ reply: TokenReply) -> TokenRequest? {
    let next = waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    next?.1.resume(returning: reply)
    return next?.0
  }
}

/// An account whose tokens come from a program.
private final class Bed: Sendable {
  let server = TokenServer()
  let clock = ManualClock()
  let source: AccessTokenSource
  let account: FCMCredentials

  init() {
    let (server, clock) = (server, clock)
    source = AccessTokenSource(
      .command(["first"]),
      monotonic: { UInt64(clock.milliseconds.load(ordering: .relaxed)) * 1_000_000 },
      wallClock: { clock.milliseconds.load(ordering: .relaxed) }, randomNumber: { 0 },
      exchange: { await server.exchange($0) })
    account = FCMCredentials(
      project: FCMProject("p-1"), tokens: source,
      wallClock: { clock.milliseconds.load(ordering: .relaxed) })
  }

  var now: Int64 { clock.milliseconds.load(ordering: .relaxed) }

  /// Waits for what another thread does.
  func until(_ what: Comment, _ condition: () -> Bool) async {
    let deadline = ContinuousClock.now + .seconds(60)
    while !condition(), ContinuousClock.now < deadline { await Task.yield() }
    #expect(condition(), what)
  }

  func answer(_ reply: TokenReply, to request: TokenRequest = .command(["first"])) async {
    await until("a question") { server.questions == 1 }
    #expect(server.answer(reply) == request)
  }

  func hour(_ text: String) -> TokenReply {
    .text(Array(#"{"access_token":"\#(text)","expires_in":3600}"#.utf8))
  }

  func problem() -> CredentialProblem? {
    do {
      _ = try account.credential(now: now)
      return nil
    } catch {
      return error
    }
  }

  var token: (any Credential)? { try? account.credential(now: now) }

  func answer(_ status: Int, _ body: [UInt8] = []) -> AnswerMeaning {
    account.meaning(of: PlatformAnswer(status: status, body: body, isWhole: true))
  }
}

@Suite struct CredentialsTests {
  @Test func allLanesShareOneTokenAndOneQuestion() async throws {
    let bed = Bed()
    for _ in 0..<3 {
      let problem = bed.problem()
      #expect(problem?.kind == .noToken && problem?.mayEndAtOnce == true)
    }
    await bed.answer(bed.hour("one"))
    await bed.until("a token") { bed.token != nil }
    #expect(bed.server.questions == 0 && bed.token === bed.token && bed.source.problem == nil)
  }

  @Test func pushesGoOnWhileTheNextTokenIsAskedFor() async throws {
    let bed = Bed()
    bed.source.askIfDue(now: bed.now)
    await bed.answer(bed.hour("one"))
    await bed.until("a token") { bed.token != nil }
    let first = try #require(bed.token)
    bed.clock.advance(3_400_000)
    #expect(bed.token === first)
    await bed.answer(bed.hour("two"))
    await bed.until("another token") { bed.token !== first }
  }

  @Test func aRefusedTokenIsNotSentAgain() async throws {
    let bed = Bed()
    bed.source.askIfDue(now: bed.now)
    await bed.answer(bed.hour("one"))
    await bed.until("a token") { bed.token != nil }
    let first = try #require(bed.token)
    #expect(bed.account.replacement(for: first, now: bed.now) == nil)
    #expect(bed.server.questions == 0 && bed.token === first)
    #expect(!bed.account.datesCredentials)
    bed.clock.advance(60_000)
    #expect(bed.account.replacement(for: first, now: bed.now) != nil)
    #expect(bed.problem()?.mayEndAtOnce == true)
    await bed.answer(bed.hour("two"))
    await bed.until("another token") { bed.token != nil }
    #expect(bed.token !== first)
    #expect(bed.account.replacement(for: first, now: bed.now) != nil)
    #expect(bed.server.questions == 0)
  }

  @Test func saysWhyThereIsNoToken() async throws {
    let bed = Bed()
    bed.source.askIfDue(now: bed.now)
    await bed.answer(
      .answer(status: 400, body: Array(#"{"error":"invalid_grant"}"#.utf8), retryAfter: nil))
    await bed.until("a problem") { bed.source.problem != nil }
    let problem = bed.problem()
    #expect(problem?.kind == .noToken && problem?.mayEndAtOnce == false)
    #expect(problem?.reason == "no access token: invalid_grant")
    #expect(bed.server.questions == 0)
  }

  @Test func anAnswerOfAnOriginBeforeDoesNotCount() async throws {
    let bed = Bed()
    bed.source.askIfDue(now: bed.now)
    await bed.until("a question") { bed.server.questions == 1 }
    bed.source.use(.command(["second"]))
    await bed.answer(bed.hour("one"))
    // The other is asked as soon as the first has answered.
    await bed.until("another question") {
      bed.source.askIfDue(now: bed.now)
      return bed.server.questions == 1
    }
    #expect(bed.token == nil)
    await bed.answer(bed.hour("two"), to: .command(["second"]))
    await bed.until("a token") { bed.token != nil }
    let token = try #require(bed.token as? AccessToken)
    #expect(token.isMade(of: "two"))
  }

  @Test func anyGoodTokenGoesOnAnyConnection() {
    let shown = Bed().account.makeShownCredentials()
    #expect(shown.mayShow(AccessToken("a"), at: 0) && shown.security(over: ["h2"]) == nil)
  }

  /// FCM does not say since when: what was bound while the push was under way stays.
  @Test func aTokenIsGoneSinceSomeTimeBeforeTheAnswer() {
    let bed = Bed()
    let gone = bed.answer(404, errorBody("NOT_FOUND", code: "UNREGISTERED"))
    #expect(gone.disposition == .prune(.unregistered) && gone.goneSince == bed.now - 600_000)
    #expect(bed.answer(404).goneSince == nil)
  }

  @Test func anAnswerIsCountedByStatusAndReason() {
    let bed = Bed()
    let known = bed.answer(503, errorBody("UNAVAILABLE", code: "UNAVAILABLE"))
    #expect(known.refusal == .init(status: 503, reason: .unavailable) && known.unknown == nil)
    #expect(known.minimumWait == .seconds(10))
    let unknown = bed.answer(503, Array("<html>".utf8))
    #expect(unknown.refusal == .init(status: 503, reason: nil))
    #expect(unknown.unknown == UnknownAnswer(status: 503, reason: ""))
  }

  @Test func tellsWhyFCMGoesAway() {
    let account = Bed().account
    let words = "exceeded_max_concurrent_streams"
    #expect(account.reason(ofGoAway: Array(words.utf8)) == words)
    for debug in [[], [0x1B], [UInt8](repeating: 0x61, count: 65)] as [[UInt8]] {
      #expect(account.reason(ofGoAway: debug) == nil)
    }
  }
}
