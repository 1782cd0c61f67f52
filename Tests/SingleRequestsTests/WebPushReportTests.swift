import Deliver
import Model
import Terminal
import Testing

@testable import SingleRequests

/// What is said of push services' answers.
@Suite struct WebPushReportTests {
  @Test func everyReasonHasWords() {
    let reasons = Platform.webpush.reasons
    let words = RejectionReason.all(of: .webpush).map { WebPushWords(.reject($0)) }
    #expect(words.map(\.reason) == reasons)
    #expect(words.allSatisfy { !$0.meaning.contains("do not document") && !$0.advice.isEmpty })
    #expect(Set(words.map(\.meaning)).count == reasons.count)
    #expect(WebPushWords(.retry(.unanswered)).meaning.contains("do not document"))
    #expect(WebPushWords(.accepted).reason == nil)
  }
}
