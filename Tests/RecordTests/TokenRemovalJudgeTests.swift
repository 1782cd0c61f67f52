import Model
import Testing

@testable import Record

/// Every kind of evidence against every kind of verdict. The ratio is 4, the minimum 20.
@Suite struct TokenRemovalJudgeTests {
  private var judge = TokenRemovalJudge(RecordOptions())

  private static func verdict(
    _ destination: Destination = .production, _ number: Int = 0
  ) -> TokenVerdict {
    TokenVerdict(
      user: "u\(number)", member: "apns:\(destination.name):a.b:\(number)",
      finding: .unusable(.badDeviceToken))
  }

  private static func evidence(
    accepted: Int, unusable: Int, _ destination: Destination = .production
  ) -> SegmentTally {
    let tally = SegmentTally()
    tally.count(.accepted, times: accepted)
    if destination == .sandbox { tally.wasAccepted(at: .sandbox, times: accepted) }
    for number in 0..<unusable { tally.add(verdict(destination, number)) }
    return tally
  }

  private func mayBe(
    _ destination: Destination = .production, topic: String = "a.b"
  ) -> Bool {
    judge.mayQuarantine(Self.verdict(destination), topic: topic)
  }

  @Test func withoutEvidenceNothingIsSetAside() {
    #expect(!mayBe() && !mayBe(.sandbox))
  }

  @Test(arguments: [
    (19, 1, false), (20, 1, true), (20, 5, true), (20, 6, false), (400, 100, true),
    (399, 100, false), (20, 0, true), (0, 0, false),
  ])
  mutating func whatAppleTakesDecides(accepted: Int, unusable: Int, isAllowed: Bool) {
    let tally = Self.evidence(accepted: accepted, unusable: unusable)
    judge.hear(of: tally, topic: "a.b", now: noon)
    #expect(mayBe() == isAllowed)
    // The same tally again is no further evidence.
    judge.hear(of: tally, topic: "a.b", now: noon)
    #expect(mayBe() == isAllowed)
  }

  @Test mutating func appsAndEnvironmentsAreJudgedByThemselves() {
    judge.hear(of: Self.evidence(accepted: 100, unusable: 1), topic: "a.b", now: noon)
    #expect(mayBe() && !mayBe(.sandbox) && !mayBe(topic: "a.c"))
    judge.hear(of: Self.evidence(accepted: 100, unusable: 50, .sandbox), topic: "a.b", now: noon)
    #expect(mayBe() && !mayBe(.sandbox))
    judge.hear(of: Self.evidence(accepted: 100, unusable: 0, .sandbox), topic: "a.b", now: noon)
    #expect(mayBe(.sandbox))
  }

  @Test mutating func segmentsAddUp() {
    for _ in 0..<20 {
      judge.hear(of: Self.evidence(accepted: 1, unusable: 0), topic: "a.b", now: noon)
    }
    #expect(mayBe())
    for _ in 0..<6 {
      judge.hear(of: Self.evidence(accepted: 0, unusable: 1), topic: "a.b", now: noon)
    }
    #expect(!mayBe())
  }

  @Test mutating func whatIsOldCountsHalf() {
    let half = TokenRemovalJudge.halfLifeMilliseconds
    judge.hear(of: Self.evidence(accepted: 80, unusable: 0), topic: "a.b", now: noon)
    judge.hear(of: Self.evidence(accepted: 0, unusable: 11), topic: "a.b", now: noon + half)
    #expect(mayBe())
    // Half of 80 and of 11, and 6 more: 40 against 11.
    judge.hear(of: Self.evidence(accepted: 0, unusable: 6), topic: "a.b", now: noon + half + 1)
    #expect(!mayBe())
    // Half of 40 and of 11: 20 against 5.
    judge.hear(
      of: Self.evidence(accepted: 0, unusable: 0), topic: "a.b", now: noon + 2 * half + 2)
    #expect(!mayBe(), "nothing was heard, so nothing is older")
    judge.hear(
      of: Self.evidence(accepted: 1, unusable: 0), topic: "a.b", now: noon + 2 * half + 2)
    #expect(mayBe())
    judge.hear(
      of: Self.evidence(accepted: 1, unusable: 0), topic: "a.b", now: noon + 3 * half + 3)
    #expect(!mayBe(), "too few are left")
  }

  /// The answers that are reported with so many devices of an app that are gone, of a segment of
  /// which so many were accepted.
  private mutating func report(
    _ removals: Int, accepted: Int = 0, _ topic: String = "a.b",
    _ destination: Destination = .production
  ) -> Int? {
    let tally = Self.evidence(accepted: accepted, unusable: 0, destination)
    for number in 0..<removals {
      let member = "apns:\(destination.name):a.b:\(number)"
      tally.add(
        TokenVerdict(user: "u", member: member, finding: .gone(since: noon, reason: .unregistered)))
    }
    judge.hear(of: tally, topic: topic, now: noon)
    let answers = judge.admission(of: tally, topic: topic).questions.first?.answers
    // The same tally again has nothing more to say.
    #expect(
      removals == 0 || judge.admission(of: tally, topic: topic).questions[0].answers == removals)
    return answers
  }

  /// What was accepted is reported once. That of other segments covers for few removals, and for
  /// none of a segment that has answers enough.
  @Test mutating func acceptedPushesAreReportedOnce() {
    func accept(_ count: Int) {
      judge.hear(of: Self.evidence(accepted: count, unusable: 0), topic: "a.b", now: noon)
    }
    #expect(report(3) == 3)
    accept(50)
    #expect(report(3, "a.c") == 3 && report(3, "a.b", .sandbox) == 3)
    #expect(report(2) == 22)
    accept(8)
    #expect(report(3, accepted: 2) == 13 && report(3) == 3)
    accept(5_000)
    #expect(report(225) == 225)
    accept(5_000)
    #expect(report(348, accepted: 2_040) == 2_388)
    #expect(report(1) == 1)
  }

  /// What is accepted while Redis is asked counts beside the next removal.
  @Test mutating func whatIsAcceptedMeanwhileIsNotForgotten() {
    #expect(report(1, accepted: 8) == 9)
    judge.hear(of: Self.evidence(accepted: 5, unusable: 0), topic: "a.b", now: noon)
    #expect(report(1) == 6)
  }

  /// A verdict on a good token decides nothing of removals, and one on a device that is gone
  /// nothing of quarantines.
  @Test mutating func eachEnvironmentIsAskedForOnce() {
    judge.hear(of: Self.evidence(accepted: 100, unusable: 1), topic: "a.b", now: noon)
    let verdicts = [
      Self.verdict(), Self.verdict(.sandbox), gone("u1", "aa", since: noon),
      TokenVerdict(
        user: "u2", member: "apns:sandbox:a.b:bb",
        finding: .gone(since: noon, reason: .unregistered)),
    ]
    let tally = SegmentTally()
    for verdict in verdicts { tally.add(verdict) }
    var admission = judge.admission(of: tally, topic: "a.b")
    #expect(admission.count == 4 && admission.withheldUnusable == 1)
    #expect(admission.verdicts == [verdicts[0], verdicts[2], verdicts[3]])
    #expect(Set(admission.questions.map(\.destination)) == [.production, .sandbox])
    while let question = admission.questions.last {
      admission.answer(mayRemove: question.destination == .production)
    }
    #expect(admission.verdicts == [verdicts[0], verdicts[2]] && admission.withheldGone == 1)
  }

  /// A clock that was set back must not keep evidence for ever.
  @Test mutating func aClockThatGoesBackHalvesToo() {
    judge.hear(of: Self.evidence(accepted: 30, unusable: 0), topic: "a.b", now: noon)
    judge.hear(of: Self.evidence(accepted: 1, unusable: 0), topic: "a.b", now: noon - 1)
    #expect(!mayBe())
  }

  @Test mutating func theLeastWatchedPlaceMakesRoom() {
    for number in 0..<TokenRemovalJudge.maximumPlaces {
      let count = number == 77 ? 21 : 1000
      judge.hear(
        of: Self.evidence(accepted: count, unusable: 0), topic: "app-\(number)", now: noon)
    }
    #expect(mayBe(topic: "app-77"))
    judge.hear(of: Self.evidence(accepted: 500, unusable: 0), topic: "one-more", now: noon)
    #expect(!mayBe(topic: "app-77") && mayBe(topic: "one-more"))
    #expect(mayBe(topic: "app-0") && mayBe(topic: "app-255"))
  }
}
