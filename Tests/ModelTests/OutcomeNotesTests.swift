import Testing

@testable import Model

/// What is noted of the pushes of a batch: whatever was not accepted, and the rest where it is
/// asked for.
@Suite struct OutcomeNotesTests {
  private static let headers = PushHeaders(
    pushType: .alert, priority: 10, topic: "com.example.live", collapseID: nil, expiration: 0,
    expiresAt: 0)

  /// Three pushes: one that is accepted behind another try, one that is refused, one that leaves.
  private static func words(
    _ level: OutcomeNotes.Level, isOfStragglers: Bool = false
  ) -> [String] {
    let tally = SegmentTally()
    let notes = OutcomeNotes(level, isOfStragglers: isOfStragglers, now: { 5 })
    tally.notes = notes
    let batch = PushBatch(event: "e1", headers: headers, tally: tally)
    let page = RecipientPage(fieldNames: [])
    for number in 0..<3 {
      let member = page.bytes.append(utf8: "apns:production:com.example.live:aa0\(number)")
      batch.append(
        recipient: .init(
          user: page.bytes.append(utf8: "u\(number)"), firstBinding: 0, bindingCount: 1),
        binding: .init(member: member, token: member.last(4), destination: .production), of: page,
        payload: batch.bytes.append(utf8: "{}"))
    }
    batch.seal()
    tally.pushes = 3
    var history = PushHistory()
    history.countTry()
    batch.setHistory(0, history)
    batch.settle(0, .accepted)
    batch.settle(1, .rejected(.badDeviceToken))
    batch.postpone(2, history: history)
    return notes.all.map { note in
      "\(notes.bytes.string(note.user)) \(note.fate.name) \(note.sends)"
    }
  }

  @Test func acceptedPushesAreLeftOutUnlessTheyAreAskedFor() {
    let failures = ["u1 BadDeviceToken 0", "u2 waiting 1"]
    #expect(Self.words(.failures) == failures)
    #expect(Self.words(.all) == failures + ["u0 accepted 2"])
    #expect(Self.words(.failures, isOfStragglers: true) == failures + ["u0 accepted 2"])
  }

  @Test func aDeviceHasAMarkThatIsNoOthers() {
    let members = (0..<500).map { "apns:production:com.example.live:aa\($0)" }
    #expect(Set(members.map { DeviceMark.of($0) }).count == members.count)
    #expect(DeviceMark.of("") == 0 && !members.map { DeviceMark.of($0) }.contains(0))
  }
}
