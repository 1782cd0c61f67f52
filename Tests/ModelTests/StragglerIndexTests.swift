import Model
import Testing

@Suite struct StragglerIndexTests {
  private let page = RecipientPage(fieldNames: ["locale", "name"])

  private static func member(_ number: Int) -> String { "apns:production:a.b:\(100 + number)" }

  private static func history(_ tries: UInt16) -> PushHistory {
    PushHistory(tries: tries, losses: 1, refusals: 2, mayHaveArrived: true)
  }

  private func index(_ pushes: [(user: String, device: Int)]) -> StragglerIndex {
    StragglerIndex(
      StragglerList(
        id: "1.0~00", parent: "1.0",
        pushes: pushes.enumerated().map { number, push in
          Straggler(
            user: push.user, member: Self.member(push.device),
            history: Self.history(UInt16(number + 1)))
        }))
  }

  /// Adds somebody with these devices to the page.
  private func add(_ user: String, devices: [Int]) {
    let first = page.bindings.count
    for device in devices {
      let member = page.bytes.append(utf8: Self.member(device))
      page.bindings.append(
        RecipientPage.Binding(member: member, token: member.last(3), destination: .production))
    }
    page.recipients.append(
      RecipientPage.Recipient(
        user: page.bytes.append(utf8: user), firstBinding: first, bindingCount: devices.count))
    page.fields += [.missing, page.bytes.append(utf8: "name of \(user)")]
    page.followers += 1
  }

  private var people: [String] {
    page.recipients.enumerated().map { number, recipient in
      let devices = page.bindings[
        Int(recipient.firstBinding)..<Int(recipient.firstBinding + recipient.bindingCount)
      ].map { page.bytes.string($0.token) }
      let name = page.bytes.string(page.field(1, of: number))
      return "\(page.bytes.string(recipient.user)) \(devices.joined(separator: " ")) \(name)"
    }
  }

  @Test func onlyWhatIsListedStays() {
    add("ann", devices: [1, 2, 3])
    add("bob", devices: [4])
    add("cleo", devices: [5, 6])
    page.suppressed[.muted] = 2
    page.skipped = 1
    let kept = index([("ann", 2), ("cleo", 5), ("cleo", 6), ("dora", 7)]).keepListed(of: page)
    #expect(kept == 3)
    #expect(people == ["ann 102 name of ann", "cleo 105 106 name of cleo"])
    // The segment that the pushes left has counted them.
    #expect(page.followers == 0 && page.suppressed.total == 0 && page.skipped == 0)
  }

  @Test func aDeviceThatHasMovedToAnotherUserIsNotListed() {
    add("ann", devices: [2])
    add("bob", devices: [1])
    #expect(index([("ann", 1), ("bob", 2)]).keepListed(of: page) == 0)
    #expect(people == [] && page.bindings.isEmpty && page.fields.isEmpty)
  }

  @Test func aPushThatIsListedTwiceCountsOnce() {
    let index = index([("ann", 1), ("ann", 1), ("ann", 2)])
    #expect(index.count == 2)
    add("ann", devices: [1, 2])
    #expect(index.keepListed(of: page) == 2)
  }

  @Test func eachPushGetsItsOwnHistory() {
    add("ann", devices: [1, 2])
    add("bob", devices: [3])
    let headers = PushHeaders(
      pushType: .alert, priority: 10, topic: "a.b", collapseID: nil, expiration: 0, expiresAt: 0)
    let batch = PushBatch(event: "e1", headers: headers, tally: SegmentTally())
    for recipient in page.recipients {
      let payload = batch.bytes.append(utf8: "{}")
      for offset in 0..<Int(recipient.bindingCount) {
        batch.append(
          recipient: recipient, binding: page.bindings[Int(recipient.firstBinding) + offset],
          of: page, payload: payload)
      }
    }
    batch.seal()
    index([("bob", 3), ("ann", 2)]).setHistories(of: batch)
    #expect(batch.entries.map(\.history) == [PushHistory(), Self.history(2), Self.history(1)])
  }
}
