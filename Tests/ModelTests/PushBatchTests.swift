import Model
import Testing

@Suite struct PushBatchTests {
  private let page = RecipientPage(fieldNames: ["locale"])
  private let tally = SegmentTally()

  private func batch(event: String = "live-8f2c") -> PushBatch {
    let headers = PushHeaders(
      pushType: .alert, priority: 10, topic: "com.example.live", collapseID: nil, expiration: 0,
      expiresAt: 0)
    return PushBatch(event: event, headers: headers, tally: tally, capacity: 64)
  }

  private func add(_ count: Int, to batch: PushBatch) {
    for index in 0..<count {
      let user = page.bytes.append(utf8: "user-\(index)")
      let member = page.bytes.append(utf8: "apns:sandbox:com.example.live:\(10_000 + index)")
      let binding = RecipientPage.Binding(
        member: member, token: member.last(5), destination: .sandbox)
      let recipient = RecipientPage.Recipient(user: user, firstBinding: 0, bindingCount: 1)
      let payload = batch.bytes.append(utf8: "{\"payload\":\(index)}")
      batch.append(recipient: recipient, binding: binding, of: page, payload: payload)
    }
  }

  @Test func entriesHoldWhatTheyNeed() {
    let batch = batch()
    add(300, to: batch)
    #expect(batch.entries.count == 300)
    #expect(batch.unsettled == 300)
    for (index, entry) in batch.entries.enumerated() {
      #expect(batch.bytes.string(entry.user) == "user-\(index)")
      let token = "\(10_000 + index)"
      #expect(batch.bytes.string(entry.member) == "apns:sandbox:com.example.live:" + token)
      #expect(batch.bytes.string(entry.token) == token)
      #expect(batch.bytes.string(entry.payload) == "{\"payload\":\(index)}")
      #expect(entry.destination == .sandbox)
      let seed = PushIdentifier.Seed(event: "live-8f2c")
      let identifier = Array(token.utf8).withUnsafeBytes { PushIdentifier(seed: seed, token: $0) }
      #expect(batch.bytes.string(entry.apnsID) == identifier.text)
    }
  }

  @Test func devicesOfAUserShareNameAndPayload() {
    let batch = batch()
    add(1, to: batch)
    let first = batch.entries[0]
    let member = page.bytes.append(utf8: "apns:production:com.example.live:ab")
    let binding = RecipientPage.Binding(
      member: member, token: member.last(2), destination: .production)
    batch.append(user: first.user, binding: binding, of: page, payload: first.payload)
    let second = batch.entries[1]
    #expect(second.user == first.user)
    #expect(second.payload == first.payload)
    #expect(second.destination == .production)
    #expect(batch.bytes.string(second.token) == "ab")
    #expect(batch.bytes.string(second.apnsID) != batch.bytes.string(first.apnsID))
  }

  @Test func theLastOutcomeCallsBackOnce() {
    let batch = batch()
    var calls = 0
    batch.whenSettled = { calls += 1 }
    add(3, to: batch)
    batch.seal()
    #expect(batch.isSealed)
    #expect(calls == 0)
    batch.settle(2, .accepted)
    batch.settle(0, .rejected(.unregistered))
    #expect(calls == 0)
    #expect(batch.unsettled == 1)
    batch.settle(1, .expired)
    #expect(calls == 1)
    #expect(batch.unsettled == 0)
    #expect(batch.whenSettled == nil)
    #expect(tally.accepted == 1)
    #expect(tally.expired == 1)
    #expect(tally.settled == 3)
  }

  @Test func anEmptyBatchIsSettledWhenSealed() {
    let batch = batch()
    var calls = 0
    batch.whenSettled = { calls += 1 }
    batch.seal()
    batch.seal()
    #expect(calls == 1)
  }

  @Test func theCallbackMayLookAtTheBatch() {
    let batch = batch()
    var seen = -1
    batch.whenSettled = { [unowned batch] in seen = batch.unsettled + batch.entries.count }
    add(1, to: batch)
    batch.seal()
    batch.settle(0, .accepted)
    #expect(seen == 1)
  }

  @Test func verdictsNameUserAndMember() {
    let batch = batch()
    add(2, to: batch)
    batch.seal()
    batch.addVerdict(1, .gone(since: 5, reason: .unregistered))
    batch.addVerdict(0, .unusable(.badDeviceToken))
    #expect(
      tally.verdicts == [
        TokenVerdict(
          user: "user-1", member: "apns:sandbox:com.example.live:10001",
          finding: .gone(since: 5, reason: .unregistered)),
        TokenVerdict(
          user: "user-0", member: "apns:sandbox:com.example.live:10000",
          finding: .unusable(.badDeviceToken)),
      ])
  }

  @Test func aPostponedPushLeavesWithItsHistoryAndIsNotCounted() {
    let batch = batch()
    var calls = 0
    batch.whenSettled = { calls += 1 }
    add(3, to: batch)
    tally.pushes = 3
    batch.seal()
    let history = PushHistory(tries: 4, losses: 1, refusals: 2, mayHaveArrived: true)
    batch.postpone(1, history: history, askAgainAt: 77)
    #expect(tally.pushes == 2 && tally.settled == 0 && batch.unsettled == 2 && calls == 0)
    #expect(
      tally.stragglers == [
        Straggler(
          user: "user-1", member: "apns:sandbox:com.example.live:10001", history: history,
          askAgainAt: 77)
      ])
    batch.settle(0, .accepted)
    batch.postpone(2, history: PushHistory())
    #expect(calls == 1 && batch.unsettled == 0)
    #expect(tally.pushes == 1 && tally.settled == 1 && tally.takeAccepted(of: .sandbox) == 1)
    #expect(tally.stragglers.map(\.user) == ["user-1", "user-2"])
    tally.settlePostponed(tally.stragglers[0], as: .rejected(.unwritable))
    #expect(tally.pushes == 2 && tally.settled == 2)
  }

  // MARK: errors of ours stop the process before a wrong counter is written

  private static func small() -> PushBatch {
    let tests = PushBatchTests()
    let batch = tests.batch()
    tests.add(2, to: batch)
    return batch
  }

  @Test func aPushSettlesOnce() async {
    await #expect(processExitsWith: .failure) {
      let batch = PushBatchTests.small()
      batch.seal()
      batch.settle(0, .accepted)
      batch.settle(0, .accepted)
    }
  }

  @Test func aPostponedPushDoesNotSettle() async {
    await #expect(processExitsWith: .failure) {
      let batch = PushBatchTests.small()
      batch.seal()
      batch.postpone(0, history: PushHistory())
      batch.settle(0, .accepted)
    }
  }

  @Test func nothingSettlesBeforeTheSeal() async {
    await #expect(processExitsWith: .failure) { PushBatchTests.small().settle(0, .accepted) }
  }

  @Test func nothingIsAddedAfterTheSeal() async {
    await #expect(processExitsWith: .failure) {
      let batch = PushBatchTests.small()
      batch.seal()
      PushBatchTests().add(1, to: batch)
    }
  }
}
