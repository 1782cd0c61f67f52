import EventLoop
import HTTP2
import Model
import Testing

@testable import Deliver

/// An event whose pushes are never taken costs another no more than its share.
@Suite struct FailingEventTests {
  private func devices(_ count: Int, _ prefix: String) -> [(Destination, String)] {
    hexadecimal(count).map { (.production, prefix + $0) }
  }

  /// A bed whose server takes nothing of devices `bad0…`.
  private func bed(
    _ loop: EventLoop, _ reply: FakeServer.Reply = .answer(500),
    configure: (inout DeliverOptions) -> Void = { _ in }
  ) throws -> DeliverBed {
    let bed = try DeliverBed(loop) {
      $0.retry = RetryPolicy(initial: .milliseconds(200), maximum: .seconds(30))
      configure(&$0)
    }
    bed.server.delay = .milliseconds(5)
    bed.server.decide = { $0.token.hasPrefix("bad0") ? reply : .answer(200) }
    return bed
  }

  /// An event of which nothing is taken is alone until the route asks its server now and then only.
  private func failAlone(_ bed: DeliverBed) async throws -> Route {
    let route = try #require(bed.stage.routes[.production])
    let bad = SegmentTally()
    for _ in 0..<4 { await bed.stage.admit(bed.batch(devices(250, "bad0"), bad)) }
    await bed.until("the route only asks") {
      route.traffic.overload.rate == Overload.floor && bed.stage.inFlight == 0
    }
    return route
  }

  @Test(arguments: [(500, true), (503, false)])
  func anotherEventGoesAtFullSpeedSoon(status: Int, isSmall: Bool) async throws {
    try await anotherGoes(beside: .answer(status), isSmall: isSmall)
  }

  @Test(arguments: [(HTTP2ErrorCode.internalError, true), (HTTP2ErrorCode.refusedStream, false)])
  func besideResetsToo(code: UInt32, isSmall: Bool) async throws {
    try await anotherGoes(beside: .reset(code), isSmall: isSmall)
  }

  /// It was alone until the route asked its server now and then only.
  private func anotherGoes(beside reply: FakeServer.Reply, isSmall: Bool) async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop, reply)
      defer { bed.stop() }
      _ = try await failAlone(bed)
      let good = SegmentTally(of: FanOut(isSmall: isSmall))
      let begun = loop.now
      await bed.stage.admit(bed.batch(devices(600, "aa"), good))
      await bed.until("all of the other are accepted") { good.accepted == 600 }
      // At ten pushes a second it would be a minute.
      #expect(loop.now - begun < 8_000_000_000)
      // So does one that comes when the bad ones were tried again, alone as they are.
      let before = bed.server.requests.count
      await bed.until("the bad ones are tried again") { bed.server.requests.count > before + 50 }
      let later = SegmentTally(of: FanOut(isSmall: isSmall))
      let since = loop.now
      await bed.stage.admit(bed.batch(devices(600, "ab"), later))
      await bed.until("all of the later one are accepted") { later.accepted == 600 }
      #expect(loop.now - since < 8_000_000_000)
    }
  }

  private func ninetyBadOnes(_ bed: DeliverBed) async -> [SegmentTally] {
    let tallies = (0..<90).map { _ in SegmentTally(of: FanOut(isSmall: true)) }
    for (number, tally) in tallies.enumerated() {
      await bed.stage.admit(bed.batch(devices(3, "bad0\(100 + number)"), tally))
    }
    return tallies
  }

  /// While the route only asks, ten pushes a second. The one that was there before has one turn in
  /// four.
  @Test func eachOfManyEventsIsTriedAtOnce() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      _ = try await failAlone(bed)
      let before = bed.server.requests.count
      let others = await ninetyBadOnes(bed)
      func tried() -> Int {
        let tokens = bed.server.requests[before...].map { $0.token }
        return Set(tokens.filter { $0.utf8.count > 10 }.map { $0.prefix(7) }).count
      }
      await bed.until("each has had a try") { tried() == 90 }
      let all = bed.server.requests.count - before
      #expect(all < 90 + 60, "\(all) requests")
      // Their first answer says that they get nowhere: no place is kept for the rest.
      await bed.until("it is known") { others.allSatisfy { $0.unsent == 0 } }
    }
  }

  /// The room for what is ready is full of them. They wait for none: what there is no room for
  /// leaves its segment, which needs its place no longer.
  @Test func anotherEventIsAdmittedAtOnce() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop) { $0.readyPushes = 100 }
      defer { bed.stop() }
      let route = try #require(bed.stage.routes[.production])
      let bad = SegmentTally()
      let queue = AdmissionLog(bed)
      for number in 0..<8 {
        await queue.admit(number, bed.batch(devices(60, "bad0"), bad))
        await loop.wait(.milliseconds(5))
      }
      await bed.until("the route only asks") {
        route.traffic.overload.rate == Overload.floor && bed.stage.inFlight == 0
      }
      for number in 0..<20 {
        await queue.admit(100 + number, bed.batch(devices(60, "bad0"), bad))
      }
      await bed.until("all of them are in") { queue.admitted.count == 28 }
      #expect(bad.unsent == 0 && bad.stragglers.count > 600 && bed.stage.readyCount < 400)
      let others = (0..<3).map { SegmentTally(of: FanOut(isSmall: $0 == 0)) }
      for (number, other) in others.enumerated() {
        await queue.admit(1_000 + number, bed.batch(devices(50, "a\(number)"), other))
        await bed.until("it is in") { queue.admitted.contains(1_000 + number) }
      }
      await bed.until("the others are accepted") { others.allSatisfy { $0.accepted == 50 } }
    }
  }

  /// Its pauses are so short that what waits is due.
  private func quickBed(_ loop: EventLoop) throws -> DeliverBed {
    try bed(loop) {
      $0.retry = RetryPolicy(initial: .milliseconds(2), maximum: .milliseconds(20))
    }
  }

  private func untilTried(_ bad: SegmentTally, _ route: Route, _ bed: DeliverBed) async {
    await bed.until("all were tried, and the route only asks") {
      bad.unsent == 0 && route.traffic.overload.rate == Overload.floor
        && bed.stage.inFlight <= 1
    }
    await bed.loop.wait(.milliseconds(100))
  }

  /// What is due and cannot go soon still waits, so that it can leave its segment.
  @Test func whatCannotGoSoonLeavesAsStragglers() async throws {
    try await onLoop { _, loop in
      let bed = try quickBed(loop)
      defer { bed.stop() }
      let route = try #require(bed.stage.routes[.production])
      let bad = SegmentTally()
      await bed.stage.admit(bed.batch(devices(200, "bad0"), bad))
      await untilTried(bad, route, bed)
      bed.stage.postponeWaiting(of: bad)
      #expect(bad.stragglers.count > 180 && route.queue.readyCount < 20)
    }
  }

  @Test func whatCannotGoSoonEndsWhenItsEventDoes() async throws {
    try await onLoop { _, loop in
      let bed = try quickBed(loop)
      defer { bed.stop() }
      let route = try #require(bed.stage.routes[.production])
      let bad = SegmentTally()
      await bed.stage.admit(bed.batch(devices(250, "bad0"), bad, expiresIn: 60_000))
      await untilTried(bad, route, bed)
      let begun = loop.now
      bed.clock.advance(60_000)
      await bed.until("all have expired") { bad.settled == 250 }
      #expect(bad.expired == 250 && loop.now - begun < 4_000_000_000)
    }
  }

  /// Each has a limit of tries, as if it were the only one of an event.
  @Test func itsPushesAreGivenUpInTheEnd() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop) {
        $0.retry = RetryPolicy(initial: .milliseconds(10), maximum: .milliseconds(40))
      }
      defer { bed.stop() }
      let bad = SegmentTally()
      await bed.stage.admit(bed.batch(devices(8, "bad0"), bad))
      var good = 0
      let limit = loop.now + 60_000_000_000
      while bad.settled < 8, loop.now < limit {
        await bed.stage.admit(bed.batch(devices(20, "aa"), bed.tally))
        good += 20
        await bed.until("the others are accepted") { bed.tally.accepted == good }
        await loop.wait(.milliseconds(10))
      }
      #expect(bad.rejections.map(\.reason) == [.internalServerError] && bad.settled == 8)
      #expect(bed.tally.rejections.isEmpty)
    }
  }

  /// It has as many pushes in flight as a server may have of which nothing is known.
  @Test func oneThatIsNeverAnsweredDoesNotKeepOthersWaiting() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop, .silence)
      defer { bed.stop() }
      let silent = SegmentTally()
      let streams = 2 * LossWindow.initial
      await bed.stage.admit(bed.batch(devices(streams, "bad0"), silent))
      await bed.until("they are in flight") { bed.stage.inFlight == streams }
      let good = SegmentTally()
      let begun = loop.now
      await bed.stage.admit(bed.batch(devices(300, "aa"), good))
      await bed.until("the others are accepted") { good.accepted == 300 }
      #expect(loop.now - begun < 6_000_000_000)
    }
  }

  /// A server that takes a part of all: two events say that of it, and neither is given up.
  @Test func aServerThatHasTooMuchIsStillSpared() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      let route = try #require(bed.stage.routes[.production])
      var next: UInt64 = 0
      bed.server.decide = { _ in
        guard loop.now >= next else { return .answer(503) }
        next = loop.now + 5_000_000
        return .answer(200)
      }
      let tallies = (0..<3).map { SegmentTally(of: FanOut(isSmall: $0 == 0)) }
      for (number, tally) in tallies.enumerated() {
        await bed.stage.admit(bed.batch(devices(150, "a\(number)"), tally))
      }
      await bed.until("settled") { tallies.allSatisfy { $0.settled == 150 } }
      #expect(tallies.allSatisfy { $0.accepted == 150 } && route.traffic.overload.rate != nil)
      #expect(bed.server.requests.count < 3_000)
    }
  }
}
