import EventLoop
import HTTP2
import Model
import Testing
import Text

@testable import Deliver

/// A server that takes part of what it is sent.
@Suite struct OverloadTests {
  private static let millisecond: UInt64 = 1_000_000

  /// Sends for so long to a server that answers after a while, a millisecond at a time.
  private struct Trial {
    var overload = Overload()
    var now: UInt64 = 1_000_000_000
    var sent = 0
    var taken = 0
    private var onTheWay: [(at: UInt64, sentAt: UInt64, isTaken: Bool)] = []

    /// - Parameters:
    ///   - offered: pushes that are ready each millisecond.
    ///   - takes: what the server says to a push that comes now.
    mutating func run(
      milliseconds: Int, offered: Int, latency: UInt64 = 2,
      takes: (UInt64) -> Bool
    ) {
      for _ in 0..<milliseconds {
        now += OverloadTests.millisecond
        while let first = onTheWay.first, first.at <= now {
          onTheWay.removeFirst()
          if first.isTaken { taken += 1 }
          overload.answered(isFailure: !first.isTaken, sentAt: first.sentAt, at: now)
        }
        for _ in 0..<overload.allowance(ready: offered, at: now) {
          overload.take(1)
          sent += 1
          onTheWay.append((now + latency * OverloadTests.millisecond, now, takes(now)))
        }
      }
    }
  }

  /// Takes so many a second, and as many at once when it was not asked before.
  private struct Bucket {
    let perSecond: Double
    var filled: Double
    var since: UInt64 = 1_000_000_000

    init(perSecond: Double) {
      self.perSecond = perSecond
      filled = perSecond
    }

    mutating func takes(_ now: UInt64) -> Bool {
      filled = min(perSecond, filled + Double(now - since) * perSecond / 1_000_000_000)
      since = now
      guard filled >= 1 else { return false }
      filled -= 1
      return true
    }
  }

  @Test(arguments: [20.0, 50, 77, 130, 1_000, 4_000])
  func nearlyAllThatIsSentIsTaken(perSecond: Double) {
    var trial = Trial()
    var bucket = Bucket(perSecond: perSecond)
    trial.run(milliseconds: 100_000, offered: 8) { bucket.takes($0) }
    #expect(Double(trial.taken) > 0.85 * 100 * perSecond)
    // The first 200 ms tell that there is a bound.
    #expect(Double(trial.sent - trial.taken) < 0.15 * Double(trial.taken) + 1_800)
  }

  @Test func aServerInOrderHasNoBound() {
    var trial = Trial()
    trial.run(milliseconds: 1_000, offered: 10) { _ in true }
    // One push in a hundred, again and again.
    var count = 0
    trial.run(milliseconds: 5_000, offered: 10) { _ in
      count += 1
      return count % 100 != 0
    }
    #expect(trial.overload.rate == nil && trial.sent == 60_000)
  }

  @Test func aServerThatTakesNothingIsAskedNowAndThenAndTrustedSoon() {
    var trial = Trial()
    trial.run(milliseconds: 1_000, offered: 10) { _ in true }
    trial.run(milliseconds: 2_000, offered: 10) { _ in false }
    let before = trial.sent
    trial.run(milliseconds: 10_000, offered: 10) { _ in false }
    #expect(trial.sent - before == Int(10 * Overload.floor))
    let taken = trial.taken
    trial.run(milliseconds: 6_000, offered: 10) { _ in true }
    #expect(trial.taken - taken > 15_000)
  }

  /// A third fails whatever is sent: less of it would only be slower.
  @Test func whatFailsHoweverLittleIsSentIsNotBounded() {
    var trial = Trial()
    var count = 0
    trial.run(milliseconds: 20_000, offered: 10) { _ in
      count += 1
      return count % 3 != 0
    }
    #expect(trial.sent > 150_000)
  }

  /// At the floor a round has too few answers to tell: several of them do.
  @Test(arguments: [0.15, 0.3, 0.5, 0.6])
  func norIsItAfterAnOutage(share: Double) {
    var trial = Trial()
    var random = SplitMix64(seed: 5)
    trial.run(milliseconds: 3_000, offered: 10) { _ in false }
    #expect(trial.overload.rate == Overload.floor)
    trial.run(milliseconds: 60_000, offered: 10) { _ in
      Double.random(in: 0..<1, using: &random) >= share
    }
    #expect(trial.sent > 150_000)
  }

  /// What it had saved up for a burst is used up: the second round fails as the first did.
  @Test func aBurstThatWasTakenDoesNotLookAsIfLessDidNotHelp() {
    var trial = Trial()
    var bucket = Bucket(perSecond: 50)
    trial.run(milliseconds: 10_000, offered: 2) { bucket.takes($0) }
    #expect(trial.sent - trial.taken < 1_000)
  }

  @Test func troubleIsForgotten() {
    var trial = Trial()
    trial.run(milliseconds: 1_000, offered: 10) { _ in false }
    #expect(trial.overload.rate == Overload.floor)
    trial.overload.forget(at: trial.now + 30_000 * Self.millisecond)
    #expect(trial.overload.rate == Overload.floor)
    trial.overload.forget(at: trial.now + 60_000 * Self.millisecond)
    #expect(trial.overload.rate == nil)
  }

  /// Others see to it that it is sent: what was earned meanwhile is there when it can be.
  @Test func whoMayGoIsNotWaitedFor() throws {
    var trial = Trial()
    trial.run(milliseconds: 1_000, offered: 10) { _ in false }
    var overload = trial.overload
    #expect(overload.rate == Overload.floor)
    while overload.allowance(ready: 10, at: trial.now) > 0 { overload.take(1) }
    let opensAt = try #require(overload.opensAt(trial.now))
    #expect(opensAt > trial.now && opensAt <= trial.now + 100 * Self.millisecond)
    #expect(overload.opensAt(opensAt + Self.millisecond) == nil)
    #expect(overload.allowance(ready: 10, at: opensAt + Self.millisecond) == 1)
  }

  /// Probes do not ask; those that do need not pay for all of them.
  @Test func whatGoesWithoutAskingHoldsNobodyUpForLong() {
    var trial = Trial()
    trial.run(milliseconds: 1_000, offered: 10) { _ in false }
    #expect(trial.overload.rate == Overload.floor)
    trial.overload.take(500)
    #expect(trial.overload.allowance(ready: 10, at: trial.now) == 0)
    #expect(trial.overload.allowance(ready: 10, at: trial.now + 500 * Self.millisecond) == 1)
  }

  /// Every stream is in use, and none of them is answered: there is no need to look each
  /// millisecond whether the rate allows more.
  @Test func aRateAtWhichNothingCanBeSentKeepsNobodyBusy() async throws {
    try await onLoop { _, loop in
      let looks = Looks()
      let bed = try DeliverBed(loop) {
        $0.connectionsPerRoute = 1
        $0.streamsPerConnection = 100
        $0.readyPushes = 10_000
        $0.retry = RetryPolicy(initial: .seconds(100), maximum: .seconds(100))
        looks.count(&$0)
      }
      defer { bed.stop() }
      let route = try #require(bed.stage.routes[.production])
      var number = 0
      var unanswered = 0
      bed.server.delay = .milliseconds(20)
      bed.server.decide = { _ in
        number += 1
        if route.traffic.overload.rate != nil {
          unanswered += 1
          return .silence
        }
        return number % 2 == 0 ? .answer(503) : .answer(200)
      }
      for _ in 0..<20 { await bed.stage.admit(bed.batch(hexadecimal(500))) }
      // Not only in use: an answer that is on its way would let another push be sent.
      await bed.until("no stream is answered") { unanswered == 100 }
      let before = looks.soFar
      await loop.wait(.milliseconds(300))
      #expect(looks.soFar - before < 30)
      #expect(bed.stage.inFlight == 100 && bed.stage.readyCount > 0)
    }
  }

  /// They came in one piece: those that were taken came first.
  @Test func answersAreJudgedInTheirOrder() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.connectionsPerRoute = 1
        $0.retry = RetryPolicy(initial: .seconds(100), maximum: .seconds(100))
      }
      defer { bed.stop() }
      let route = try #require(bed.stage.routes[.production])
      await bed.stage.admit(bed.batch(["00aa"]))
      await bed.until("a round has begun") { bed.tally.accepted == 1 }
      bed.server.holdsAnswers = true
      var number = 0
      bed.server.decide = { _ in
        number += 1
        return number <= 35 ? .answer(200) : .answer(503)
      }
      await bed.stage.admit(bed.batch(hexadecimal(60)))
      await bed.until("all are there") { bed.server.requests.count == 61 }
      await loop.wait(.milliseconds(250))
      bed.server.release()
      await bed.until("all are answered") { bed.stage.inFlight == 0 }
      #expect(bed.tally.accepted == 36)
      #expect(route.traffic.overload.rate == nil)
    }
  }

  /// It says 100 streams and takes two at a time.
  @Test func everyPushIsTakenByAServerThatRefusesMostStreams() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      var busy: [Int: Int] = [:]
      bed.server.delay = .milliseconds(5)
      bed.server.decide = { request in
        guard busy[request.connection, default: 0] < 2 else {
          return .reset(HTTP2ErrorCode.refusedStream)
        }
        busy[request.connection, default: 0] += 1
        loop.schedule(after: .milliseconds(5)) { busy[request.connection, default: 0] -= 1 }
        return .answer(200)
      }
      let tokens = hexadecimal(400)
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("settled") { bed.tally.settled == tokens.count }
      #expect(bed.tally.accepted == tokens.count)
    }
  }

  /// Others succeed all the time, and that says nothing about those that are not taken.
  @Test func nobodyIsRejectedForWhatTheServerTakesTooSlowly() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      var next: UInt64 = 0
      bed.server.decide = { _ in
        guard loop.now >= next else {
          return .answer(503, #"{"reason":"ServiceUnavailable"}"#)
        }
        next = loop.now + 5_000_000
        return .answer(200)
      }
      let tokens = hexadecimal(300)
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("settled") { bed.tally.settled == tokens.count }
      #expect(bed.tally.accepted == tokens.count && bed.tally.rejections.isEmpty)
    }
  }

  /// All that is left is of a topic whose credentials were refused: one of them must ask.
  @Test func credentialsAreAskedForWhileTheServerTakesTooMuch() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.credentialHold = .milliseconds(5) }
      defer { bed.stop() }
      let route = try #require(bed.stage.routes[.production])
      var wasRefused = false
      bed.server.decide = { _ in
        if route.traffic.overload.rate == nil, !wasRefused { return .answer(503) }
        if !(route.queue.topics.first?.gate.isRefused ?? false), !wasRefused {
          return .answer(403, #"{"reason":"InvalidProviderToken"}"#)
        }
        wasRefused = true
        return .answer(200)
      }
      let tokens = hexadecimal(30)
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("settled") { bed.tally.settled == tokens.count }
      #expect(wasRefused && bed.tally.accepted == tokens.count)
    }
  }
}
