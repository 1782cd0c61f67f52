import TestBed
import Testing

/// A worker that stands still, as a process does that is stopped, or a virtual machine that is
/// moved: for longer than its session with Kafka, so that its partitions are others' when it goes
/// on.
@Suite(.serialized) struct StandstillTests {
  private static let workers = ["w1", "w2", "w3"]
  private static let standstill: Duration = .seconds(20)

  /// Its claims last: what it had in flight waits for it, until there is nothing else to do.
  @Test func nothingIsSentTwiceWhileClaimsLast() async throws {
    let set = try await EnduranceBed.make(settings: [
      "lanes.claim_lifetime=5m", "apns.request_timeout=5m",
    ])
    let giant = try await Crowd.large("giant", followers: 150_000, in: set.bed)
    let inFlight = try await Self.freeze("w2", set, giant)
    // In each partition the others come to what it had in flight before they come to the rest.
    try await set.settled(allBut: inFlight.count, of: giant)
    await set.fleet.thaw("w2")
    try await set.finished([giant])
    #expect(await set.fleet.isWhole)
    // Whatever it has still to say is said before it is judged.
    _ = await set.fleet.stop("w2")
    let audit = try await Audit.take(of: [giant], in: set.bed)
    Self.report(audit, inFlight, giant)
    #expect(audit.lost == 0 && audit.duplicates == 0)
  }

  /// Shorter than its session, as it is by default: its claims end, but nobody else gets its
  /// partitions, and it goes on with what it had.
  @Test func nothingIsSentTwiceWithinTheSession() async throws {
    let set = try await EnduranceBed.make(settings: ["kafka.session_timeout=45s"])
    let giant = try await Crowd.large("giant", followers: 150_000, in: set.bed)
    let inFlight = try await Self.freeze("w2", set, giant)
    await set.fleet.thaw("w2")
    try await set.finished([giant])
    #expect(await set.fleet.isWhole)
    let audit = try await Audit.take(of: [giant], in: set.bed)
    Self.report(audit, inFlight, giant)
    #expect(audit.lost == 0 && audit.duplicates == 0)
  }

  /// Its claims end: the others send what it had in flight, some of it again, since nobody but the
  /// worker that stands still knows of the answers. When it goes on it sends no more of that.
  @Test func whatItHadIsSentAgainOnceAndByOthersWhenClaimsEnd() async throws {
    let set = try await EnduranceBed.make()
    let giant = try await Crowd.large("giant", followers: 150_000, in: set.bed)
    let inFlight = try await Self.freeze("w2", set, giant)
    let segments = Set(inFlight.map(\.segment))
    let settled = set.bed.keyspace.settled(id: giant.event)
    _ = try await set.bed.until("others settle what the worker had in flight") {
      let areDone = try await set.bed.withRedis { redis in
        for segment in segments {
          guard try await redis.ask("SISMEMBER", settled, segment) == "1" else { return false }
        }
        return true
      }
      return areDone ? true : nil
    }
    let before = await set.bed.simulator.summary().duplicates
    await set.fleet.thaw("w2")
    try await set.finished([giant])
    #expect(await set.fleet.isWhole)
    // Whatever it has still to say is said before it is judged.
    _ = await set.fleet.stop("w2")
    let audit = try await Audit.take(of: [giant], in: set.bed, inFlight: inFlight)
    Self.report(audit, inFlight, giant)
    #expect(audit.lost == 0 && audit.unexplained == 0)
    // It may have been stopped between two writes of what had its turn already.
    #expect(audit.duplicates - before <= Fleet.onTheWire)
  }

  /// Stops it in the middle, and returns what it had in flight when the time is over.
  private static func freeze(
    _ id: String, _ set: EnduranceBed, _ giant: Crowd
  ) async throws -> Set<Fleet.InFlight> {
    try await set.fleet.start(workers)
    try await set.emit(giant)
    try await set.settled(0.25, of: giant)
    let inFlight = try await set.fleet.freeze(id, [giant.event])
    #expect(!inFlight.isEmpty)
    try await set.wait(until: .now + standstill)
    return inFlight
  }

  private static func report(_ audit: Audit, _ inFlight: Set<Fleet.InFlight>, _ giant: Crowd) {
    let pushes = inFlight.reduce(0) { $0 + giant.tokens(of: $1.segment).count }
    EnduranceBed.report(
      "a standstill with \(inFlight.count) segments of \(pushes) pushes in flight: of "
        + "\(audit.pushes) pushes \(audit.lost) lost, \(audit.duplicates) sent again")
  }
}
