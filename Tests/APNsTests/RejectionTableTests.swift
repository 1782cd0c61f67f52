import Model
import Testing

@testable import APNs
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
      (403, "InvalidProviderToken", .hold(.invalidProviderToken)),
      (403, "BadCertificate", .hold(.badCertificate)),
      (403, "ExpiredProviderToken", .renew(.expiredProviderToken)),
      (403, "Forbidden", .reject(.forbidden)),
      (403, nil, .hold(.other)),
      (403, "SomethingNew", .hold(.other)),
      (404, "SomethingNew", .rejectAndAlert(.badPath)),
      (405, "SomethingNew", .rejectAndAlert(.methodNotAllowed)),
      (410, "Unregistered", .prune(.unregistered)),
      (410, "ExpiredToken", .prune(.expiredToken)),
      (410, "SomethingNew", .prune(.unregistered)),
      (410, nil, .prune(.unregistered)),
      (413, "SomethingNew", .reject(.payloadTooLarge)),
      (413, "PayloadTooLarge", .reject(.payloadTooLarge)),
      (401, "Unauthorized", .retry(.proxyAnswered)),
      (402, "SomethingNew", .retry(.proxyAnswered)),
      (407, "SomethingNew", .retry(.proxyAnswered)),
      (408, "SomethingNew", .retry(.proxyAnswered)),
      (421, "SomethingNew", .retryElsewhere(.proxyAnswered)),
      (451, "SomethingNew", .rejectAndAlert(.other)),
      (302, "SomethingNew", .retry(.proxyAnswered)),
      (429, "TooManyRequests", .retry(.tooManyRequests)),
      (429, "TooManyProviderTokenUpdates", .hold(.tooManyProviderTokenUpdates)),
      (429, nil, .retry(.tooManyRequests)),
      (500, "InternalServerError", .retry(.internalServerError)),
      (500, nil, .retry(.internalServerError)),
      (503, "Shutdown", .retryElsewhere(.shutdown)),
      (503, "ServiceUnavailable", .retry(.serviceUnavailable)),
      (503, nil, .retry(.serviceUnavailable)),
      (599, "Whatever", .retry(.serviceUnavailable)),
    ] as [(Int, String?, Disposition)])
  func judgesEachAnswer(status: Int, reason: String?, disposition: Disposition) {
    #expect(RejectionTable.disposition(status: status, reason: reason) == disposition)
  }

  /// No byte of these is Apple's: whatever a proxy says, it is no device's fault.
  @Test(arguments: [
    201, 204, 300, 301, 302, 303, 307, 308, 400, 401, 402, 404, 405, 406, 407, 408, 409, 411, 413,
    414, 415, 416, 417, 425, 426, 428, 431, 451, 501, 502, 504, 505, 507, 511, 520, 599, 999,
  ])
  func anAnswerWithoutAReasonIsAProxys(status: Int) {
    let found = RejectionTable.disposition(status: status, reason: nil)
    #expect(found == .retry(.proxyAnswered))
  }

  /// Gateways write the status' own words as JSON.
  @Test(arguments: ["", "Bad Request", "not-found", "Verboten\u{e9}"])
  func aReasonOfSeveralWordsIsAProxysToo(reason: String) {
    for status in [400, 401, 404, 405, 413, 414, 418, 501] {
      let found = RejectionTable.disposition(status: status, reason: reason)
      #expect(found == .retry(.proxyAnswered), "\(status)")
    }
    let long = String(repeating: "a", count: 65)
    #expect(RejectionTable.disposition(status: 400, reason: long) == .retry(.proxyAnswered))
  }

  @Test func aMisdirectedRequestGoesOnAnotherConnection() {
    let found = RejectionTable.disposition(status: 421, reason: nil)
    #expect(found == .retryElsewhere(.proxyAnswered))
  }

  /// A refusal is final whatever status it comes with, and so is a status whose reason is new.
  /// Nobody knows what they would have said: the others' status says enough.
  @Test(
    arguments: [
      (200, nil, .accepted),
      (400, nil, .retry(.unanswered)),
      (400, "BadDeviceToken", .setAside(.badDeviceToken)),
      (403, nil, .hold(.other)),
      (404, nil, .retry(.unanswered)),
      (410, nil, .retry(.unanswered)),
      (410, "Unregistered", .prune(.unregistered)),
      (413, nil, .retry(.unanswered)),
      (421, nil, .retry(.unanswered)),
      (429, nil, .retry(.tooManyRequests)),
      (500, nil, .retry(.internalServerError)),
      (301, nil, .retry(.unanswered)),
    ] as [(Int, String?, Disposition)])
  func judgesEachAnswerThatBrokeOff(status: Int, reason: String?, disposition: Disposition) {
    let found = RejectionTable.disposition(status: status, reason: reason, isWhole: false)
    #expect(found == disposition)
  }

  @Test func judgesByTheReasonBeforeTheStatus() {
    for status in [400, 403, 429, 500, 503] {
      let judge = { (reason: RejectionReason) in
        RejectionTable.disposition(status: status, reason: reason.name)
      }
      #expect(judge(.badDeviceToken) == .setAside(.badDeviceToken))
      #expect(judge(.unregistered) == .prune(.unregistered))
      #expect(judge(.payloadTooLarge) == .reject(.payloadTooLarge))
      #expect(judge(.badTopic) == .rejectAndAlert(.badTopic))
      #expect(judge(.invalidProviderToken) == .hold(.invalidProviderToken))
      #expect(judge(.expiredProviderToken) == .renew(.expiredProviderToken))
      #expect(judge(.tooManyRequests) == .retry(.tooManyRequests))
      #expect(judge(.shutdown) == .retryElsewhere(.shutdown))
    }
  }

  /// Each reason of Apple's, and nothing else, is tried again; the list is the table's, by hand.
  @Test func everyReasonOfApplesHasItsRow() {
    let again: Set<RejectionReason> = [
      .tooManyRequests, .internalServerError, .serviceUnavailable, .shutdown, .idleTimeout,
      .badCertificate, .badCertificateEnvironment, .invalidProviderToken, .missingProviderToken,
      .unrelatedKeyIdInToken, .badEnvironmentKeyIdInToken, .tooManyProviderTokenUpdates,
      .expiredProviderToken,
    ]
    for reason in RejectionReason.ours + RejectionReason.all(of: .apns) {
      let disposition = RejectionTable.disposition(status: 400, reason: reason.name)
      let isFinal =
        switch disposition {
        case .reject, .rejectAndAlert, .prune, .setAside: true
        case .accepted, .retry, .retryElsewhere, .renew, .hold: false
        }
      #expect(isFinal == !again.contains(reason), "\(reason)")
    }
  }

  @Test func onlyWhatMayBeOneDevicesMatterHasALimit() {
    for reason in RejectionReason.ours + RejectionReason.all(of: .apns) {
      let subject = RejectionTable.subject(of: reason)
      switch reason {
      case .tooManyRequests: #expect(subject == .device)
      case .internalServerError, .serviceUnavailable, .shutdown, .idleTimeout, .unanswered,
        .proxyAnswered:
        #expect(subject == .server)
      default: #expect(subject == nil)
      }
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

  /// What Apple documents is not unknown, in whatever status it comes.
  @Test(
    arguments: [
      (400, "BadTopic", Disposition.rejectAndAlert(.badTopic), nil),
      (503, nil, .retry(.serviceUnavailable), nil),
      (403, nil, .hold(.other), "403 without a reason"),
      (400, "New", .rejectAndAlert(.other), "400 New, which is not documented"),
    ] as [(Int, String?, Disposition, String?)])
  func tellsWhatAppleDoesNotDocument(
    status: Int, reason: String?, disposition: Disposition, words: String?
  ) {
    #expect(RejectionTable.unknown(status, reason, disposition)?.words == words)
  }
}
