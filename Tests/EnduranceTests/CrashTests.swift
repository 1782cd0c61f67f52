import Glibc
import TestBed
import Testing
import Text

/// Workers that are killed, over and over. What a crash sends again is what the worker had in
/// flight: the segments under its claims.
@Suite(.serialized) struct CrashTests {
  private static let workers = ["w1", "w2", "w3"]
  /// Four places a lane for the segments of a giant, and as many segments that have left theirs.
  private static let mostInFlight = 2 * 2 * 4
  private static let kills = 30
  private static let killInterval: Duration = .seconds(2)
  private static let lasting = ["kafka.static_membership=true"]

  @Test func oneOfThreeDiesInTheMiddleOfAGiant() async throws {
    // Four times the pace: all that two cores can do for three workers.
    let set = try await EnduranceBed.make(
      settings: ["apns.streams_per_connection=\(4 * Fleet.streams)"])
    let giant = try await Crowd.large("giant", followers: 1_000_000, in: set.bed)
    try await set.fleet.start(Self.workers)
    try await set.emit(giant)
    try await set.settled(0.4, of: giant)
    let inFlight = try await set.fleet.kill("w2", ["giant"])
    #expect((1...Self.mostInFlight).contains(inFlight.count))
    try await set.finished([giant])
    #expect(await set.fleet.isWhole)
    let audit = try await Audit.take(of: [giant], in: set.bed, inFlight: inFlight)
    Self.expect(audit, [giant], inFlight, kills: 1)
  }

  /// Others each time: `TESTS_SEED=<number>` repeats whom a run killed. A group forms again after
  /// each of them, which takes longer than the next one lets it, so that little is sent. So those
  /// that come in the first half are static members, whose partitions wait for them: most of them
  /// die in the middle of their work.
  @Test func workersDieAllTheTimeAndAreReplaced() async throws {
    let seed = Self.seed
    EnduranceBed.report("TESTS_SEED=\(seed) repeats whom this run kills")
    let set = try await EnduranceBed.make()
    var crowds = [try await Crowd.large("giant", followers: 300_000, in: set.bed)]
    let smalls = Self.kills * 2
    for number in 0..<smalls { crowds.append(try await Crowd.small(number, in: set.bed)) }
    for id in Self.workers { try await set.fleet.begin(id, settings: Self.lasting) }
    try await set.emit(crowds[0])
    try await set.settled(0.02, of: crowds[0])
    var random = SplitMix64(seed: seed)
    var inFlight: Set<Fleet.InFlight> = []
    var (mostOfGiant, hits) = (0, 0)
    let began = ContinuousClock.now
    for kill in 0..<Self.kills {
      try await set.emit(crowds[2 * kill + 1])
      try await set.wait(until: began + Self.killInterval * kill + Self.killInterval / 2)
      try await set.emit(crowds[2 * kill + 2])
      try await set.wait(until: began + Self.killInterval * (kill + 1))
      let victim = Self.workers[Int(random.next() % 3)]
      let had = try await set.fleet.kill(victim, crowds.prefix(2 * kill + 3).map(\.event))
        .subtracting(inFlight)
      mostOfGiant = max(mostOfGiant, had.count { $0.event == "giant" })
      hits += had.isEmpty ? 0 : 1
      inFlight.formUnion(had)
      let isStatic = kill < Self.kills / 2
      try await set.fleet.begin(victim, settings: isStatic ? Self.lasting : [])
    }
    let settled = try await set.bed.status("giant")?.settled ?? 0
    EnduranceBed.report(
      "\(hits) kills hit a worker that had something in flight; \(settled) of "
        + "\(crowds[0].tokens.count) segments are settled after the last")
    #expect(hits > 0 && mostOfGiant <= Self.mostInFlight)
    try await set.finished(crowds)
    let audit = try await Audit.take(of: crowds, in: set.bed, inFlight: inFlight)
    Self.expect(audit, crowds, inFlight, kills: Self.kills)
  }

  private static func expect(
    _ audit: Audit, _ crowds: [Crowd], _ inFlight: Set<Fleet.InFlight>, kills: Int
  ) {
    let byEvent = Dictionary(uniqueKeysWithValues: crowds.map { ($0.event, $0) })
    let atRisk = inFlight.reduce(0) {
      $0 + (byEvent[$1.event]?.tokens(of: $1.segment).count ?? 0)
    }
    EnduranceBed.report(
      "\(kills) kills, \(inFlight.count) segments of \(atRisk) pushes in flight: of "
        + "\(audit.pushes) pushes \(audit.lost) lost, \(audit.duplicates) sent again")
    #expect(audit.lost == 0)
    #expect(audit.duplicates <= atRisk && audit.unexplained == 0)
  }

  private static var seed: UInt64 {
    getenv("TESTS_SEED").flatMap { UInt64(String(cString: $0)) } ?? .random(in: 0..<1_000_000)
  }
}
