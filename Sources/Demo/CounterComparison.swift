import LocalStack
import ServerProcesses

/// Redis's counters beside what others saw, number by number.
package struct CounterComparison: Sendable {
  package enum Witness: String, Sendable { case ledger, audience, redis }

  package struct Row: Sendable, Equatable {
    package let name: String
    package let counted: Int
    package let witness: Witness
    let witnessed: ClosedRange<Int>

    package var matches: Bool { witnessed.contains(counted) }
  }

  package private(set) var rows: [Row] = []

  /// - Parameters:
  ///   - ledger: of all platforms together.
  ///   - retriedReasons: answers after which the worker tries again: the ledger counts every try,
  ///     Redis the outcome.
  package init(
    _ redis: FanOutCounters, ledger: LedgerTotals, retriedReasons: Set<String>,
    expected: ExpectedCounters
  ) {
    add("recipients", redis.recipients, .audience, expected.followers)
    add("pushes", redis.pushes, .audience, expected.devices)
    add("suppressed", redis.suppressed, .audience, expected.mutedDevices)
    // Mutes are all that an audience of ours asks for.
    add("muted", redis.suppressedByRule["muted"] ?? 0, .audience, expected.mutedDevices)
    add("outcomes", redis.outcomes, .redis, redis.pushes)
    add("accepted", redis.accepted, .ledger, ledger.accepted)
    let reasons = Set(redis.rejected.keys).union(ledger.refusals.keys)
    for reason in reasons.subtracting(FanOutCounters.ownReasons).sorted() {
      let seen = ledger.refusals[reason] ?? 0
      let least = retriedReasons.contains(reason) ? 0 : seen
      add("rejected \(reason)", redis.rejected[reason] ?? 0, .ledger, least...seen)
    }
    // A push that was tried and then expired left its token in the ledger too.
    let asked = redis.pushes - redis.suppressed - redis.outcomesWithoutSending
    let unsure = redis.expired + redis.cancelled
    add("tokens", asked, .ledger, max(0, ledger.tokens - unsure)...ledger.tokens)
    add("pruned", redis.pruned, .redis, expected.deadBindingsGone)
  }

  package var matches: Bool { rows.allSatisfy(\.matches) }
  package var differences: [Row] { rows.filter { !$0.matches } }

  private mutating func add(_ name: String, _ counted: Int, _ witness: Witness, _ seen: Int) {
    add(name, counted, witness, seen...seen)
  }

  private mutating func add(
    _ name: String, _ counted: Int, _ witness: Witness, _ seen: ClosedRange<Int>
  ) {
    rows.append(Row(name: name, counted: counted, witness: witness, witnessed: seen))
  }
}

/// The counters that a fan-out must have by its audience.
package struct ExpectedCounters: Sendable, Equatable {
  package var followers: Int
  package var devices: Int
  package var mutedDevices: Int
  /// Dead bindings that are gone from Redis.
  package var deadBindingsGone: Int

  package init(followers: Int, devices: Int, mutedDevices: Int, deadBindingsGone: Int) {
    self.followers = followers
    self.devices = devices
    self.mutedDevices = mutedDevices
    self.deadBindingsGone = deadBindingsGone
  }
}
