import Testing

@testable import Devices

/// What somebody writes to choose devices that were set aside.
@Suite struct QuarantineFilterTests {
  @Test func nothingGivenAdmitsAll() throws {
    #expect(try QuarantineFilter(QuarantineFilter.Given(), now: 0).isEmpty)
  }

  @Test func readsEachValue() throws {
    let filter = try QuarantineFilter(
      QuarantineFilter.Given(
        user: "u1", token: "AA11", reason: "BadDeviceToken", topic: "com.example.live",
        environment: "sandbox", since: "2026-11-21T08:00:00Z", before: "1795248000001"),
      now: 0)
    #expect(filter.user == "u1" && filter.token == "aa11" && filter.reason == "BadDeviceToken")
    #expect(filter.topic == "com.example.live" && filter.environment == .sandbox)
    #expect(filter.since == 1_795_248_000_000 && filter.before == 1_795_248_000_001)
  }

  @Test(
    arguments: [
      ("2d", 1_795_075_200_000), ("1d12h", 1_795_118_400_000),
      ("2026-11-21", 1_795_219_200_000), ("2026-11-21T08:00:00Z", 1_795_248_000_000),
      ("1795248000001", 1_795_248_000_001),
      // Older ones are not given back: another user may have had them since.
      ("7d", 1_794_643_200_000), ("30d", 1_794_643_200_000), ("2026-01-01", 1_794_643_200_000),
    ] as [(String, Int64)])
  func readsSinceWhenSomethingWasPruned(_ text: String, _ expected: Int64) throws {
    let filter = try QuarantineFilter(
      QuarantineFilter.Given(prunedSince: text), now: 1_795_248_000_000)
    #expect(filter.prunedSince == expected && !filter.isEmpty)
  }

  @Test(arguments: [
    (QuarantineFilter.Given(user: "a{b}"), "user"),
    (QuarantineFilter.Given(token: "abc"), "token"),
    (QuarantineFilter.Given(token: "a{b}", platform: .fcm), "token"),
    (QuarantineFilter.Given(topic: "a b"), "topic"),
    (QuarantineFilter.Given(environment: "prod"), "environment"),
    (QuarantineFilter.Given(since: "yesterday"), "since"),
    (QuarantineFilter.Given(before: "-1"), "before"),
    (QuarantineFilter.Given(prunedSince: "soon"), "pruned-since"),
    (QuarantineFilter.Given(prunedSince: "0"), "pruned-since"),
    (QuarantineFilter.Given(prunedSince: "-1d"), "pruned-since"),
  ])
  func namesWhatIsWrongAndNotItsValue(given: QuarantineFilter.Given, name: String) {
    let refusal = #expect(throws: GivenRefusal.self) {
      _ = try QuarantineFilter(given, now: 0)
    }
    #expect(refusal?.name == name)
    #expect(refusal?.rule.contains("abc") == false)
  }

  @Test(arguments: [("fault:0:unregistered:", true), ("a b", false), ("{a}", false)])
  func aPrefixOfDeadAndroidTokensIsVisibleASCII(prefix: String, isOne: Bool) {
    let problem = SyntheticAudience.problem(
      topic: "com.example", deadTokenPrefix: "", androidDeadPrefix: prefix, userPrefix: "u")
    #expect(problem?.name == (isOne ? nil : "android-dead-prefix"))
  }

  @Test(
    arguments: [
      ("com.example", "dead", "u", nil), ("com example", "", "u", "app"),
      ("com.example", "xyz", "u", "dead-prefix"), ("com.example", "", "a{", "user-prefix"),
      ("com.example", String(repeating: "a", count: 33), "u", "dead-prefix"),
      ("com.example", "", String(repeating: "a", count: 65), "user-prefix"),
    ] as [(String, String, String, String?)])
  func whatASyntheticAudienceCannotBe(topic: String, dead: String, user: String, name: String?) {
    #expect(
      SyntheticAudience.problem(topic: topic, deadTokenPrefix: dead, userPrefix: user)?.name
        == name)
  }
}
