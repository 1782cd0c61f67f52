import Testing

@testable import Model

@Suite struct SegmentTallyTests {
  private func unusable(_ destination: Destination, _ number: Int) -> TokenVerdict {
    TokenVerdict(
      user: "u\(number)", member: "apns:\(destination.name):a.b:\(number)",
      finding: .unusable(.badDeviceToken))
  }

  @Test func tellsEachTimeThatNothingIsUnsent() {
    let tally = SegmentTally()
    var calls = 0
    tally.whenNothingIsUnsent = { calls += 1 }
    tally.noLongerUnsent(0)
    #expect(calls == 0)
    tally.willSend(3)
    tally.noLongerUnsent()
    #expect(tally.unsent == 2 && calls == 0)
    tally.noLongerUnsent(2)
    #expect(tally.unsent == 0 && calls == 1)
    // A route opens again, and what had counted as waiting is unsent once more.
    tally.willSend(1)
    tally.noLongerUnsent(0)
    #expect(tally.unsent == 1 && calls == 1)
    tally.noLongerUnsent()
    #expect(calls == 2)
  }

  /// Of a segment that another worker had begun: that a push was not sent is said of none.
  @Test func whatMayHaveBeenSentIsNeitherExpiredNorCancelled() {
    let outcomes: [Outcome] = [.accepted, .expired, .cancelled, .suppressed(.muted)]
    let tally = SegmentTally()
    #expect(outcomes.map(tally.known) == outcomes)
    tally.mayHaveBeenSent = true
    let unanswered = Outcome.rejected(.unanswered)
    #expect(
      outcomes.map(tally.known) == [.accepted, unanswered, unanswered, .suppressed(.muted)])
    tally.settlePostponed(
      Straggler(user: "u1", member: "m", history: PushHistory()), as: .expired)
    #expect(tally.expired == 0 && tally.rejections.map(\.reason) == [.unanswered])
  }

  @Test func evidenceIsToldOnceAndByDestination() {
    let tally = SegmentTally()
    tally.count(.accepted, times: 10)
    for _ in 0..<3 { tally.wasAccepted(at: .sandbox) }
    tally.add(unusable(.production, 1))
    tally.add(unusable(.sandbox, 2))
    tally.add(unusable(.sandbox, 3))
    tally.add(
      TokenVerdict(
        user: "u4", member: "apns:production:a.b:4", finding: .gone(since: 5, reason: .unregistered)
      ))
    #expect(tally.takeEvidence(of: .production) == (7, 1))
    #expect(tally.takeEvidence(of: .sandbox) == (3, 2))
    #expect(tally.takeEvidence(of: .production) == (0, 0))
    #expect(tally.takeEvidence(of: .sandbox) == (0, 0))
    // What is written down and dropped has been heard of all the same.
    tally.dropVerdicts(4)
    tally.count(.accepted, times: 2)
    tally.wasAccepted(at: .sandbox)
    tally.add(unusable(.sandbox, 5))
    #expect(tally.takeEvidence(of: .production) == (1, 0))
    #expect(tally.takeEvidence(of: .sandbox) == (1, 1))
    #expect(tally.verdicts == [unusable(.sandbox, 5)])
  }
}
