import APNsSimulator
import Record
import TestBed
import Testing

/// What became of some events, as the simulator's ledger and Redis have it.
struct Audit {
  private(set) var pushes = 0
  /// Devices that nothing reached.
  private(set) var lost = 0
  /// Pushes beyond the first that the ledger accepted of a device.
  private(set) var duplicates = 0
  /// Of these, those of segments that no worker had in flight when it was killed.
  private(set) var unexplained = 0

  /// - Parameter inFlight: what workers had in flight when they were killed, or stood still.
  static func take(
    of crowds: [Crowd], in bed: WorkerBed, inFlight: Set<Fleet.InFlight> = []
  ) async throws -> Audit {
    var audit = Audit()
    for crowd in crowds {
      let segments = inFlight.filter { $0.event == crowd.event }.map(\.segment)
      let explained = Set(segments.flatMap { crowd.tokens(of: $0) })
      let tokens = crowd.tokens.flatMap { $0 }
      let counts = await bed.simulator.counts(of: tokens).map(\.accepted)
      let twice = zip(tokens, counts).filter { $0.1 > 1 }
      audit.pushes += tokens.count
      audit.lost += counts.count { $0 == 0 }
      audit.duplicates += twice.reduce(0) { $0 + $1.1 - 1 }
      audit.unexplained += twice.filter { !explained.contains($0.0) }.reduce(0) { $0 + $1.1 - 1 }
      try await expectCounters(of: crowd, in: bed, reached: counts.count { $0 > 0 })
    }
    try await expectSums(of: crowds, in: bed, duplicates: audit.duplicates)
    return audit
  }

  /// What a crash sends again counts once in Redis, because a segment counts when it settles, and
  /// settles once. The ledger counts each push, so it is the devices reached that are equal.
  private static func expectCounters(
    of crowd: Crowd, in bed: WorkerBed, reached: Int
  ) async throws {
    let status = try #require(try await bed.status(crowd.event), "\(crowd.event)")
    let about = Comment(rawValue: "\(crowd.event): \(status.numbers)")
    #expect(status.state == .done && status.isBalanced, about)
    #expect(status.recipients == crowd.followers, about)
    #expect(status.accepted == reached && status.accepted == crowd.pushes, about)
    #expect(status.suppressed == crowd.muted, about)
    #expect(status.pushes == crowd.pushes + crowd.muted, about)
  }

  /// The statistics are the sums of the events, and nobody else was sent to.
  private static func expectSums(
    of crowds: [Crowd], in bed: WorkerBed, duplicates: Int
  ) async throws {
    var sums = ["events": crowds.count, "events_done": crowds.count]
    for crowd in crowds {
      let status = try #require(try await bed.status(crowd.event))
      // Those of stragglers too.
      sums["segments", default: 0] += status.settled
      for field in ["stragglers", "recipients", "pushes", "accepted", "suppressed", "retried"] {
        sums[field, default: 0] += status.numbers[field] ?? 0
      }
    }
    let key = bed.keyspace.statsTotal
    let total = try await bed.withRedis { try await $0.table(key) }
    for (field, sum) in sums {
      #expect(total[field].flatMap { Int($0) } ?? 0 == sum, "\(field) of the statistics")
    }
    let summary = await bed.simulator.summary()
    let pushes = crowds.reduce(0) { $0 + $1.pushes }
    #expect(summary.tokens == pushes)
    #expect(summary.requests == summary.accepted)
    #expect(summary.accepted == pushes + duplicates)
  }
}
