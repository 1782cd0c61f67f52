import EventLoop
import HTTP2
import Model
import Testing

@testable import Deliver

/// When the next connection comes.
@Suite struct ReconnectTests {
  private let policy = RetryPolicy(initial: .milliseconds(200), maximum: .seconds(30))

  /// A server that says GOAWAY after 50 requests, as Node's http2 does, before it has answered any.
  @Test func aConnectionThatWasOfUseIsReplacedAtOnce() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.delay = .milliseconds(100) }) {
        $0.retry = RetryPolicy(initial: .seconds(100), maximum: .seconds(100))
      }
      defer { bed.stop() }
      bed.server.goAwayAfterFifty()
      let tally = await bed.admitTwoThousand()
      await bed.until("all settled") { bed.settledBatches == 4 }
      #expect(tally.accepted == 2000)
      // 40 connections or more: 20 at once, 20 in a second; one back-off would have been too long.
      #expect(bed.notices.disconnects == 0)
      // What a GOAWAY says was not looked at is sent again, and nothing else.
      #expect(bed.server.requests.count { $0.stream <= 99 } == 2000)
    }
  }

  /// A server that says GOAWAY after 50 requests and takes its time to answer them: so many may
  /// wait for their last answers, and the next connection is there when one of them is gone.
  @Test func theNextConnectionComesWhenOneThatRetiredIsGone() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.retry = RetryPolicy(initial: .seconds(100), maximum: .seconds(100))
        $0.streamsPerConnection = 50
      }
      defer { bed.stop() }
      bed.server.goAwayAfterFifty()
      bed.server.holdsAnswers = true
      let tally = await bed.admitTwoThousand()
      let pool = try #require(bed.stage.routes[.production]).pool
      await bed.until("two wait") {
        !pool.slots.mayRetireMore && pool.slots.ordinary.allSatisfy { pool.slots[$0].isVacant }
      }
      #expect((16...17).contains(bed.server.connections.count))
      bed.server.release()
      await bed.until("all settled") { bed.settledBatches == 4 }
      #expect(tally.accepted == 2000)
      #expect(bed.server.requests.count { $0.stream <= 99 } == 2000)
      #expect(pool.slots.ordinary.allSatisfy { !pool.slots[$0].isVacant })
    }
  }

  /// It is in no better order for having let in another.
  @Test func aServerThatLetsInAndClosesIsAskedEverMoreSeldom() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.connectionsPerRoute = 4
        $0.retry = RetryPolicy(initial: .milliseconds(100), maximum: .seconds(100))
      }
      defer { bed.stop() }
      let end = loop.now + 1_500_000_000
      while loop.now < end {
        // The one that was let in, before another is.
        if bed.stage.openConnections > 0 { bed.server.open.first?.drop() }
        await loop.wait(.microseconds(50))
      }
      // Four at first, and four further tries of each in 1.5 s.
      #expect(bed.server.connections.count <= 20)
    }
  }

  /// By its GOAWAY it takes them, and refuses them all the same: they are haltd as all others are.
  @Test func whatIsRefusedBehindAGoawayIsNotSentAgainAtOnce() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.delay = .milliseconds(20) }) {
        $0.retry = RetryPolicy(initial: .seconds(100), maximum: .seconds(100))
      }
      defer { bed.stop() }
      bed.server.afterRequests = { connection in
        if connection.lastStream > 0, !connection.isGoingAway {
          connection.goAway(lastStream: .max)
        }
      }
      bed.server.decide = { _ in .reset(HTTP2ErrorCode.refusedStream) }
      let tokens = hexadecimal(30)
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("all are refused") {
        bed.server.requests.count >= tokens.count && bed.stage.inFlight == 0
          && bed.stage.readyCount == 0
      }
      await bed.until("others are connected") { bed.stage.openConnections == 2 }
      await loop.wait(.milliseconds(200))
      #expect(bed.server.requests.count == tokens.count)
      #expect(bed.server.connections.count < 8)
    }
  }

  @Test func aPushComesThroughAtOnceAfterAnIdleConnectionWasClosed() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.retry = RetryPolicy(initial: .seconds(100), maximum: .seconds(100))
      }
      defer { bed.stop() }
      await bed.stage.admit(bed.batch(["00aa"]))
      await bed.until("accepted") { bed.tally.accepted == 1 }
      await bed.until("open") { bed.stage.openConnections == 2 }
      let used = loop.now
      await bed.until("idle") { loop.now - used > 1_200_000_000 }
      for connection in bed.server.open { connection.drop() }
      await bed.until("closed") { bed.stage.openConnections == 0 }
      #expect(bed.notices.disconnects == 0)
      #expect(bed.stage.connectionCounts[.idle] == 2 && bed.stage.connectionCounts.opened == 2)
      await bed.stage.admit(bed.batch(["00bb"]))
      await bed.until("accepted") { bed.tally.accepted == 2 }
      #expect(bed.stage.obstacles == [])
    }
  }

  @Test func idleConnectionsThatAreClosedBlockNothingAndAreNoObstacle() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.retry = RetryPolicy(initial: .seconds(100), maximum: .seconds(100))
        $0.closedAfter = .milliseconds(10)
      }
      defer { bed.stop() }
      await bed.until("open") { bed.stage.openConnections == 2 && bed.stage.obstacles == [] }
      let used = loop.now
      await bed.until("idle") { loop.now - used > 1_200_000_000 }
      for connection in bed.server.open { connection.goAway(lastStream: 0) }
      await bed.until("closed") { bed.stage.openConnections == 0 }
      await loop.wait(.milliseconds(50))
      #expect(bed.stage.obstacles == [])
    }
  }

  @Test func replacesAConnectionThatWasDroppedWithoutAWordBeforeItIsSentOn() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.idleBeforePing = .milliseconds(100)
        $0.livenessTimeout = .milliseconds(300)
        // The ordinary PING would find it out as well, and much later.
        $0.pingTimeout = .seconds(600)
        $0.retry = RetryPolicy(initial: .seconds(100), maximum: .seconds(100))
      }
      defer { bed.stop() }
      await bed.until("open") { bed.stage.openConnections == 2 }
      await loop.wait(.milliseconds(150))
      for connection in bed.server.open { connection.isDeaf = true }
      await bed.stage.admit(bed.batch(hexadecimal(10)))
      await bed.until("all accepted") { bed.tally.accepted == 10 }
      #expect(bed.server.requests.count == 10)
      #expect(bed.tally.retried == 0)
    }
  }

  @Test func waitsForNoSignOfLifeWhileAnotherConnectionIsAlive() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.idleBeforePing = .milliseconds(100)
        $0.livenessTimeout = .seconds(60)
      }
      defer { bed.stop() }
      await bed.until("open") { bed.stage.openConnections == 2 }
      await loop.wait(.milliseconds(150))
      bed.server.open[0].isDeaf = true
      await bed.stage.admit(bed.batch(hexadecimal(10)))
      await bed.until("all accepted") { bed.tally.accepted == 10 }
      #expect(bed.server.requests.allSatisfy { $0.connection == 1 })
    }
  }

  // MARK: how long to wait

  @Test func oneAnswerIsNoUseThatEndsABackOff() {
    var place = ConnectionSlot()
    var delays: [Duration] = []
    for _ in 0..<12 {
      delays.append(place.delay(after: .carried(0), retry: policy, chance: 0))
    }
    #expect(delays.first == .milliseconds(100) && delays.last == .seconds(15))
    // Of some use: a bounded wait, but a wait, and the shorter the more use it was of.
    for (pushes, delay) in [(1, 4_750), (10, 2_500), (19, 250)] {
      let some = place.delay(after: .carried(pushes), retry: policy, chance: 0)
      #expect(some == .milliseconds(delay))
    }
    #expect(place.delay(after: .carried(0), retry: policy, chance: 0) == .seconds(15))
    #expect(
      place.delay(after: .carried(ConnectionSlot.usefulPushes), retry: policy, chance: 0) == .zero)
    #expect(place.delay(after: .carried(0), retry: policy, chance: 0) == .milliseconds(100))
  }

  /// A night of idle closes must not cost the first push after a real failure half a minute.
  @Test func idleClosesAreNoFailures() {
    var place = ConnectionSlot()
    for _ in 0..<12 { _ = place.delay(after: .idle, retry: policy, chance: 0) }
    #expect(place.isResting)
    #expect(place.delay(after: .idle, retry: policy, chance: 0) == .seconds(15))
    #expect(place.delay(after: .carried(0), retry: policy, chance: 0) == .milliseconds(100))
  }

  /// Who asks whether one may be opened takes none, and hears what who opens it would.
  @Test(arguments: [true, false])
  func theBudgetSaysWhetherOneMayBeOpened(isProbe: Bool) {
    var budget = ConnectBudget()
    for _ in 0..<30 {
      let wait = budget.wait(at: 1, isProbe: isProbe)
      #expect(budget.wait(at: 1, isProbe: isProbe) == wait)
      #expect(budget.take(at: 1, isProbe: isProbe) == wait)
    }
    #expect(budget.wait(at: 1, isProbe: isProbe) > 0)
  }

  /// One that the server made pay for bad tokens is replaced at once, and no more often than
  /// others.
  @Test func whatWasMadeToPayHasNotEarnedMore() {
    var place = ConnectionSlot()
    let carried = ConnectionSlot.End.carried(100)
    #expect(place.delay(after: carried, wasCut: true, retry: policy, chance: 0) == .zero)
    #expect(!place.isEarned)
    #expect(place.delay(after: carried, wasCut: false, retry: policy, chance: 0) == .zero)
    #expect(place.isEarned)
  }

  /// Connections that took the places of others that were of use come twenty times as often, and
  /// no more often.
  @Test func whatWasOfUseIsReplacedMoreOften() {
    var budget = ConnectBudget()
    var now: UInt64 = 5_000_000_000
    let begin = now
    var connects = 0
    while now < begin + 10_000_000_000 {
      let wait = budget.take(at: now, isEarned: true)
      if wait == 0 { connects += 1 }
      now += max(wait, 1_000_000)
    }
    #expect((4_000...4_401).contains(connects))
    var place = ConnectionSlot()
    #expect(!place.isEarned)
    for (end, isEarned) in [
      (ConnectionSlot.End.carried(ConnectionSlot.usefulPushes), true), (.carried(1), false),
      (.carried(100), true), (.idle, false), (.carried(100), true), (.calm, false),
    ] {
      _ = place.delay(after: end, retry: policy, chance: 0)
      #expect(place.isEarned == isEarned)
    }
  }

  @Test func neverConnectsMoreOftenThanItsBudgetWhateverTheServerDoes() {
    var budget = ConnectBudget()
    var now: UInt64 = 5_000_000_000
    let begin = now
    var connects = 0
    while now < begin + 10_000_000_000 {
      let wait = budget.take(at: now)
      if wait == 0 { connects += 1 }
      now += max(wait, 1_000_000)
    }
    #expect((200...221).contains(connects))
    // A quiet time saves up no more than one burst.
    now += 3_600_000_000_000
    var burst = 0
    while budget.take(at: now) == 0 { burst += 1 }
    #expect(burst == 20)
  }
}
