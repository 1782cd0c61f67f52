import Model
import Testing

@testable import Deliver

@Suite struct AnswerCountsTests {
  @Test func countsEachAnswer() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.decide = { request in
        request.token.hasSuffix("0")
          ? .answer(410, #"{"reason":"Unregistered","timestamp":1}"#) : .answer(200)
      }
      await bed.stage.admit(bed.batch(hexadecimal(32)))
      await bed.until("all settled") { bed.settledBatches == 1 }
      let counts = bed.stage.answerCounts
      #expect(counts.accepted == 30)
      #expect(counts.refused == [.init(status: 410, reason: .unregistered): 2])
    }
  }

  @Test func tellsSoManyInventionsApart() {
    var counts = AnswerCounts()
    for _ in 0..<2 { for status in 1...100 { counts.refuse(.init(status: status, reason: nil)) } }
    #expect(counts.refused.count == BoundedCounts<AnswerCounts.Refusal>.maximum + 1)
    #expect(counts.refused[.others] == 72)
    #expect(counts.refused[.init(status: 64, reason: nil)] == 2)
    var sum = AnswerCounts()
    sum.accepted += 1
    sum.add(counts)
    sum.add(counts)
    #expect(sum.accepted == 1 && sum.refused[.init(status: 64, reason: nil)] == 4)
  }
}
