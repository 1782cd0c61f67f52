import APNs
import Model
import SingleRequests
import Testing

@Suite struct ReasonWordsTests {
  @Test func everyReasonHasWordsOfItsOwn() {
    var seen: Set<String> = []
    for reason in RejectionReason.ours + RejectionReason.all(of: .apns) {
      let words = ReasonWords(reason)
      #expect(!words.meaning.isEmpty && !words.advice.isEmpty, "\(reason)")
      #expect(seen.insert(words.meaning).inserted, "\(reason) means what another does")
    }
  }

  /// A reason is Apple's when it is read back from its name; then it has a status.
  @Test func whatIsApplesHasAStatus() {
    for reason in RejectionReason.ours + RejectionReason.all(of: .apns) {
      let isApples = RejectionReason.apple(reason.name) == reason && reason != .other
      #expect((ReasonWords(reason).status != nil) == isApples, "\(reason)")
    }
  }

  @Test func whatIsTakenHasItsStatus() { #expect(ReasonWords.accepted.status == 200) }

  @Test func saysWhatTheTableDoes() {
    func sentence(_ status: Int, _ reason: String?) -> String {
      AnswerPolicy(status: status, reason: reason).sentence
    }
    #expect(sentence(200, nil) == "accepted")
    #expect(sentence(400, "BadDeviceToken") == "rejected; the token is set aside")
    #expect(sentence(400, "BadTopic") == "rejected; the operator is told")
    #expect(
      sentence(410, "Unregistered")
        == "rejected; the token is removed, unless it was bound after the timestamp")
    #expect(
      sentence(429, "TooManyRequests")
        == "sent again after a back-off; tries: 10, more where others are refused")
    #expect(
      sentence(503, "Shutdown")
        == "sent again on another connection; tries: 10 while others are taken; "
        + "the connection takes no more")
    #expect(
      sentence(403, "InvalidProviderToken").hasSuffix("the topic waits; the operator is told"))
    #expect(
      sentence(403, "ExpiredProviderToken")
        == "sent again with a new provider token; tries: until it expires; the connection takes no "
        + "more, and the next one has the new provider token; the topic waits, and "
        + "the operator is told, if the provider token was new")
  }
}
