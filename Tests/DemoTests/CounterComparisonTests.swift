import Demo
import LocalStack
import ServerProcesses
import Testing

@Suite struct CounterComparisonTests {
  private var redis: FanOutCounters
  private var ledger: LedgerTotals
  private let expected = ExpectedCounters(
    followers: 90, devices: 100, mutedDevices: 4, deadBindingsGone: 6)

  init() {
    redis = FanOutCounters()
    redis.recipients = 90
    redis.pushes = 100
    redis.accepted = 90
    redis.rejected = ["Unregistered": 6]
    redis.suppressed = 4
    redis.suppressedByRule = ["muted": 4]
    redis.pruned = 6
    ledger = LedgerTotals()
    ledger.requests = 96
    ledger.accepted = 90
    ledger.refusals = ["Unregistered": 6]
    ledger.tokens = 96
  }

  private var differences: [String] {
    CounterComparison(
      redis, ledger: ledger,
      retriedReasons: DemoPlatform.apple(share: 0.5).retriedReasons.union(
        DemoPlatform.android(share: 0.5).retriedReasons), expected: expected
    ).differences.map(\.name)
  }

  @Test("Equal numbers agree")
  func equal() { #expect(differences == []) }

  @Test("A counter of Redis that nobody confirms differs")
  mutating func redisIsWrong() {
    redis.accepted = 91
    #expect(differences == ["outcomes", "accepted"])
  }

  @Test("A ledger that saw more differs")
  mutating func ledgerSawMore() {
    ledger.accepted = 92
    ledger.tokens = 97
    #expect(differences == ["accepted", "tokens"])
  }

  @Test("Each reason of a rejection is compared, also those that one side alone has")
  mutating func reasons() {
    redis.rejected = ["BadDeviceToken": 6]
    #expect(differences == ["rejected BadDeviceToken", "rejected Unregistered"])
  }

  @Test("Answers that are tried again may be more in the ledger, and never more in Redis")
  mutating func retried() {
    ledger.refusals["ServiceUnavailable"] = 17
    #expect(differences == [])
    redis.rejected["ServiceUnavailable"] = 18
    redis.accepted -= 18
    ledger.accepted -= 18
    #expect(differences == ["rejected ServiceUnavailable"])
  }

  @Test("A reason of another platform is compared under its own name, and retried under its own")
  mutating func anotherPlatform() {
    redis.rejected = ["Unregistered": 4, "UNREGISTERED": 2]
    #expect(differences == ["rejected UNREGISTERED", "rejected Unregistered"])
    ledger.refusals = ["Unregistered": 4, "UNREGISTERED": 2, "UNAVAILABLE": 9, "none": 3]
    #expect(differences == [])
  }

  @Test("What the worker refused itself was not asked of the push service")
  mutating func ownReasons() {
    redis.rejected["Unrenderable"] = 2
    redis.accepted -= 2
    ledger.accepted -= 2
    ledger.tokens -= 2
    #expect(differences == [])
    #expect(redis.outcomesWithoutSending == 2)
  }

  @Test("An expired push may have been tried before, or not")
  mutating func expired() {
    redis.expired = 5
    redis.accepted -= 5
    ledger.accepted -= 5
    #expect(differences == [])
    ledger.tokens -= 5
    #expect(differences == [])
    ledger.tokens -= 1
    #expect(differences == ["tokens"])
  }

  @Test("The audience says how many people and devices there are")
  mutating func audience() {
    redis.recipients = 89
    redis.pushes = 99
    redis.suppressed = 3
    redis.suppressedByRule = ["muted": 3]
    #expect(differences == ["recipients", "pushes", "suppressed", "muted"])
  }

  @Test("Pruned is what is gone from Redis")
  mutating func pruned() {
    redis.pruned = 5
    #expect(differences == ["pruned"])
  }
}
