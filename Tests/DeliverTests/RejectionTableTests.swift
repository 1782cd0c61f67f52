import Model
import Testing

@testable import Deliver

@Suite struct RejectionTableTests {
  @Test(
    arguments: [
      (200, nil, .accepted),
      (400, "BadDeviceToken", .setAside(.badDeviceToken)),
      (400, "DeviceTokenNotForTopic", .setAside(.deviceTokenNotForTopic)),
      (400, "BadCollapseId", .rejectAndAlert(.badCollapseId)),
      (400, "PayloadEmpty", .rejectAndAlert(.payloadEmpty)),
      (400, "TopicDisallowed", .rejectAndAlert(.topicDisallowed)),
      (400, "IdleTimeout", .retryElsewhere(.idleTimeout)),
      (400, "SomethingNew", .rejectAndAlert(.other)),
      (400, nil, .rejectAndAlert(.other)),
      (403, "InvalidProviderToken", .hold(.invalidProviderToken)),
      (403, "BadCertificate", .hold(.badCertificate)),
      (403, "ExpiredProviderToken", .renewToken),
      (403, "Forbidden", .reject(.forbidden)),
      (404, nil, .rejectAndAlert(.badPath)),
      (405, nil, .rejectAndAlert(.methodNotAllowed)),
      (410, "Unregistered", .prune(.unregistered)),
      (410, "ExpiredToken", .prune(.expiredToken)),
      (410, nil, .reject(.unregistered)),
      (413, nil, .reject(.payloadTooLarge)),
      (429, "TooManyRequests", .retry(.tooManyRequests)),
      (429, "TooManyProviderTokenUpdates", .hold(.tooManyProviderTokenUpdates)),
      (429, nil, .retry(.tooManyRequests)),
      (500, "InternalServerError", .retry(.internalServerError)),
      (500, nil, .retry(.internalServerError)),
      (503, "Shutdown", .retryElsewhere(.shutdown)),
      (503, "ServiceUnavailable", .retry(.serviceUnavailable)),
      (599, "Whatever", .retry(.serviceUnavailable)),
      (301, nil, .rejectAndAlert(.other)),
    ] as [(Int, String?, Disposition)])
  func judgesEachAnswer(status: Int, reason: String?, disposition: Disposition) {
    #expect(RejectionTable.disposition(status: status, reason: reason) == disposition)
  }

  /// A body cannot turn a permanent refusal into something that is sent for ever.
  @Test func knowsEveryReasonOfOurVocabulary() {
    for reason in RejectionReason.allCases {
      let disposition = RejectionTable.disposition(status: 400, reason: reason.name)
      #expect(disposition != .accepted)
    }
  }

  @Test func neverTakesOurOwnReasonsFromAServer() {
    #expect(
      RejectionTable.disposition(status: 400, reason: "Unrenderable") == .rejectAndAlert(.other))
    #expect(
      RejectionTable.disposition(status: 503, reason: "NoRoute") == .retry(.serviceUnavailable))
  }
}

@Suite struct AnswerTests {
  @Test func readsReasonAndTimestamp() {
    let answer = Answer(body: Array(#"{"reason":"Unregistered","timestamp":1700000000123}"#.utf8))
    #expect(answer.reason == "Unregistered")
    #expect(answer.timestamp == 1_700_000_000_123)
  }

  @Test(arguments: [
    "", "{", "[]", "null", "<html>404</html>", #"{"reason":7}"#, #"{"timestamp":"x"}"#,
    #"{"reason":"a","reason":"b"}"#, "\u{FEFF}{}", #"{"reason":"\ud800"}"#,
  ])
  func findsNoReasonInWhatAppleDoesNotSend(body: String) {
    let answer = Answer(body: Array(body.utf8))
    #expect(answer.reason == nil)
    #expect(answer.timestamp == nil)
  }
}
