import Model
import Testing

@Suite struct OutcomeReportsTests {
  private static let member = "p:com.example.live:aabb"

  private func reports(_ event: String = "e1", share: Double = 1) -> OutcomeReports {
    OutcomeReports(event: event, share: share, now: { 7 })
  }

  /// A tally with these, that hears of one outcome.
  private func told(
    _ reports: OutcomeReports, _ fate: NotedFate, user: String = "u1", member: String = member
  ) -> OutcomeReports {
    let tally = SegmentTally()
    tally.reports = reports
    tally.note(user: user, member: member, fate, sends: 2)
    return reports
  }

  @Test func aPushIsReportedWithItsDeviceAndWithoutItsToken() throws {
    let reports = told(
      reports(), .outcome(.expired), member: Destination.sandbox.memberPrefix + "a:b")
    let report = try #require(reports.all.first)
    #expect(reports.all.count == 1 && reports.bytes.string(report.user) == "u1")
    #expect(report.destination == .sandbox && report.fate == .outcome(.expired))
    #expect(report.device == DeviceMark.of(Destination.sandbox.memberPrefix + "a:b"))
    #expect(report.sends == 2 && report.at == 7)
  }

  @Test func aUserWithoutPushesHasNoDevice() throws {
    let report = try #require(told(reports(), .outcome(.suppressed(.muted)), member: "").all.first)
    #expect(report.device == 0 && report.destination == nil)
  }

  /// It gets its outcome in the segment of its list.
  @Test func whatWaitsIsNotReported() { #expect(told(reports(), .waiting).all.isEmpty) }

  @Test func anIdentifierIsTheSameInEachCopyAndAnotherForAllElse() throws {
    func identifier(_ event: String, _ user: String, _ member: String) throws -> String {
      let report = try #require(
        told(reports(event), .skipped, user: user, member: member).all.first)
      return HexText.of(report.identifier.high) + HexText.of(report.identifier.low)
    }
    let one = try identifier("e1", "u1", "p:a:1")
    #expect(try identifier("e1", "u1", "p:a:1") == one)
    let others = [
      ("e2", "u1", "p:a:1"), ("e1", "u2", "p:a:1"), ("e1", "u1", "p:a:2"), ("e1", "u1", ""),
    ]
    let all = try others.map { try identifier($0.0, $0.1, $0.2) }
    #expect(Set(all + [one]).count == 5)
  }

  @Test func aShareOfTheUsersIsTheSameInEveryEvent() {
    func sampled(_ event: String) -> Set<String> {
      let reports = reports(event, share: 0.1)
      for number in 0..<5_000 { _ = told(reports, .outcome(.accepted), user: "u\(number)") }
      return Set(reports.all.map { reports.bytes.string($0.user) })
    }
    let first = sampled("e1")
    #expect((400...600).contains(first.count) && sampled("e2") == first)
  }

  /// Accepted pushes go where somebody wants them, and fill no notes of who does not.
  @Test func acceptedPushesAreReportedAndNotNoted() {
    let tally = SegmentTally()
    tally.notes = OutcomeNotes(.failures, now: { 7 })
    #expect(!tally.hearsAccepted)
    tally.reports = reports()
    #expect(tally.hearsAccepted)
    tally.note(user: "u1", member: Self.member, .outcome(.accepted), sends: 1)
    tally.note(user: "u1", member: Self.member, .outcome(.expired))
    #expect(tally.notes?.all.count == 1 && tally.reports?.all.count == 2)
  }

  @Test func nobodyHearsWithoutNotesAndReports() {
    let tally = SegmentTally()
    #expect(!tally.hearsOfPushes && !tally.hearsAccepted)
    tally.note(user: "u1", member: Self.member, .outcome(.expired))
    #expect(tally.reports == nil && tally.notes == nil)
  }

  @Test func whatIsPublishedGoes() {
    let reports = told(reports(), .skipped)
    #expect(reports.keptBytes > 0)
    reports.removeAll()
    #expect(reports.all.isEmpty)
    #expect(told(reports, .skipped, user: "u2").all.count == 1)
    #expect(OutcomeReports.maximumBytes(pushes: 0) > OutcomeReports.publishedAt * 32)
  }
}
