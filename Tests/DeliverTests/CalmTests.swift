import EventLoop
import HTTP2
import Model
import Testing

@testable import Deliver

/// A server that says it is sent too much (ENHANCE_YOUR_CALM), of a stream or of a connection, is
/// sent less.
@Suite struct CalmTests {
  private static let second: UInt64 = 1_000_000_000

  /// Takes so many a millisecond, all that are sent.
  private func taken(_ perMillisecond: Int) -> (overload: Overload, now: UInt64) {
    var overload = Overload()
    var now = Self.second
    for _ in 0..<2_000 {
      now += 1_000_000
      overload.answered(perMillisecond, at: now)
    }
    return (overload, now)
  }

  @Test func halfOfWhatWasTakenIsSent() throws {
    var (overload, now) = taken(4)
    #expect(overload.rate == nil)
    overload.calm(sentAt: now, at: now)
    let rate = try #require(overload.rate)
    #expect((1_900...2_100).contains(rate))
    // Said of what was sent before it is the same word; of what was sent since, another.
    overload.calm(sentAt: now - 1, at: now + 1)
    #expect(overload.rate == rate)
    overload.calm(sentAt: now + 1, at: now + 2)
    #expect(overload.rate == rate / 2)
  }

  /// The server may say it before it is known how much it takes, or after a quiet while.
  @Test(arguments: [0, 1])
  func whatWasTakenJustNowCountsToo(earlier: Int) throws {
    var (overload, now) = taken(earlier)
    for _ in 0..<50 {
      now += 1_000_000
      overload.answered(20, at: now)
    }
    overload.calm(sentAt: now, at: now)
    let rate = try #require(overload.rate)
    #expect((1_500...4_000).contains(rate))
  }

  @Test func nobodyIsSentLessThanTheFloor() {
    var overload = Overload()
    overload.calm(sentAt: 1, at: 2)
    #expect(overload.rate == Overload.floor)
    overload.calm(sentAt: 3, at: 4)
    #expect(overload.rate == Overload.floor)
  }

  /// Carefully more, as long as it does not say it again.
  @Test func moreIsSentAgainByAndBy() throws {
    var (overload, now) = taken(4)
    overload.calm(sentAt: now, at: now)
    var rates: [Double] = []
    for _ in 0..<2_000 {
      now += 1_000_000
      let sent = overload.allowance(ready: 1_000, at: now)
      overload.take(sent)
      if sent > 0 { overload.answered(sent, at: now) }
      rates.append(overload.rate ?? 0)
    }
    let last = try #require(rates.last)
    #expect(rates[300] < 2_400 && last > 3_500)
  }

  @Test func itsConnectionIsReplacedAfterAPause() {
    var place = ConnectionSlot()
    let policy = RetryPolicy(initial: .milliseconds(200), maximum: .seconds(30))
    #expect(place.delay(after: .calm, retry: policy, chance: 0) == .milliseconds(100))
    #expect(place.delay(after: .calm, retry: policy, chance: 0) == .milliseconds(200))
    // A server that asks for it once a day is not left alone for longer and longer.
    for _ in 0..<12 { _ = place.delay(after: .calm, retry: policy, chance: 0) }
    #expect(place.delay(after: .calm, retry: policy, chance: 0) == .seconds(5))
    let carried = ConnectionSlot.End.carried(ConnectionSlot.usefulPushes)
    #expect(place.delay(after: carried, retry: policy, chance: 0) == .zero)
    #expect(place.delay(after: .calm, retry: policy, chance: 0) == .milliseconds(100))
  }

  @Test func aResetWithItSlowsAllDown() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      var isSaid = false
      bed.server.decide = { _ in
        guard !isSaid else { return .answer(200) }
        isSaid = true
        return .reset(HTTP2ErrorCode.enhanceYourCalm)
      }
      let route = try #require(bed.stage.routes[.production])
      await bed.stage.admit(bed.batch(hexadecimal(20)))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 20)
      #expect(route.traffic.overload.rate != nil)
    }
  }

  @Test func aConnectionThatEndsWithItSlowsAllDown() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.afterRequests = { connection in
        guard connection.number == 0, !connection.isGoingAway else { return }
        connection.goAway(
          lastStream: connection.lastStream, errorCode: HTTP2ErrorCode.enhanceYourCalm)
      }
      let route = try #require(bed.stage.routes[.production])
      await bed.until("open") { bed.stage.openConnections == 2 }
      await bed.stage.admit(bed.batch(hexadecimal(100)))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 100)
      #expect(route.traffic.overload.rate != nil)
      // However much it has carried, its place is not taken at once.
      #expect(
        bed.notices.count {
          if case .goingAway(_, _, let retryAfter) = $0 { retryAfter > .zero } else { false }
        } == 1)
    }
  }
}
