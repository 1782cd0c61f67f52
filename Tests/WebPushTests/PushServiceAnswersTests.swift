import Model
import Testing

@testable import Deliver
@testable import WebPush

@Suite struct PushServiceAnswersTests {
  @Test(
    arguments: [
      (200, .accepted), (201, .accepted), (202, .accepted), (204, .retry(.proxyAnswered)),
      (301, .rejectAndAlert(.redirected)), (302, .rejectAndAlert(.redirected)),
      (307, .rejectAndAlert(.redirected)), (308, .rejectAndAlert(.redirected)),
      (400, .rejectAndAlert(.badRequest)), (401, .hold(.badCredentials)),
      (403, .hold(.credentialsMismatch)), (404, .prune(.notFound)),
      (405, .rejectAndAlert(.badRequest)), (406, .retry(.webPushTooMany)),
      (407, .retry(.proxyAnswered)), (408, .retry(.webPushUnavailable)),
      (410, .prune(.gone)), (411, .rejectAndAlert(.badRequest)),
      (413, .reject(.webPushTooLarge)), (415, .rejectAndAlert(.badRequest)),
      (421, .retryElsewhere(.webPushUnavailable)), (425, .retry(.webPushUnavailable)),
      (429, .retry(.webPushTooMany)), (500, .retry(.serverError)), (502, .retry(.serverError)),
      (503, .retry(.webPushUnavailable)), (504, .retry(.webPushUnavailable)),
      (599, .retry(.serverError)), (999, .retry(.proxyAnswered)),
    ] as [(Int, Disposition)])
  func theStatusDecidesWhereNoWordDoes(status: Int, disposition: Disposition) {
    for dialect in [PushServiceDialect.mozilla, .google, .apple, .windows, .other] {
      for word in [nil, "Unheard"] {
        #expect(
          PushServiceAnswers.disposition(status: status, word: word, dialect) == disposition)
      }
    }
  }

  @Test(
    arguments: [
      (400, 101, .rejectAndAlert(.badRequest)), (400, 108, .rejectAndAlert(.badRequest)),
      (400, 110, .rejectAndAlert(.badRequest)), (400, 111, .rejectAndAlert(.badRequest)),
      (400, 112, .rejectAndAlert(.badRequest)), (400, 113, .rejectAndAlert(.badRequest)),
      (400, 114, .rejectAndAlert(.badRequest)), (401, 109, .hold(.badCredentials)),
      (404, 102, .prune(.notFound)), (410, 103, .prune(.gone)), (410, 105, .prune(.gone)),
      (410, 106, .prune(.gone)), (413, 104, .reject(.webPushTooLarge)),
      (429, 201, .retry(.webPushTooMany)), (503, 201, .retry(.webPushUnavailable)),
      (503, 202, .retry(.webPushUnavailable)), (502, 900, .retry(.serverError)),
      (502, 903, .retry(.serverError)), (500, 999, .retry(.serverError)),
    ] as [(Int, Int, Disposition)])
  func mozillaNumbersItsErrors(status: Int, number: Int, disposition: Disposition) {
    let found = judge(
      .mozilla, status, #"{"code":\#(status),"errno":\#(number),"error":"x","message":"y"}"#)
    #expect(found == disposition)
    // The number says it, whatever the status; 201 alone has two meanings.
    guard number != 201 else { return }
    #expect(judge(.mozilla, 418, #"{"errno":\#(number)}"#) == disposition)
  }

  @Test(
    arguments: [
      (400, "BadTtl", .rejectAndAlert(.badRequest)),
      (400, "BadUrgency", .rejectAndAlert(.badRequest)),
      (400, "BadWebPushTopic", .rejectAndAlert(.badRequest)),
      (400, "BadWebPushRequest", .rejectAndAlert(.badRequest)),
      (400, "VapidPkHashMismatch", .hold(.credentialsMismatch)),
      (403, "VapidPkHashMismatch", .hold(.credentialsMismatch)),
      (403, "BadJwtToken", .hold(.badCredentials)),
      (403, "BadVapidPublicKey", .hold(.badCredentials)),
      (413, "PayloadTooLarge", .reject(.webPushTooLarge)),
      (410, "Unregistered", .prune(.gone)),
    ] as [(Int, String, Disposition)])
  func appleNamesItsReasons(status: Int, reason: String, disposition: Disposition) {
    #expect(judge(.apple, status, #"{"reason":"\#(reason)"}"#) == disposition)
  }

  /// It is said of the sender, not of the message.
  @Test func googlesUnauthorizedRegistrationIsABadRequestInStatusAlone() {
    let page = "<HTML><BODY><H1>UnauthorizedRegistration</H1>Error 400</BODY></HTML>"
    #expect(judge(.google, 400, page) == .hold(.badCredentials))
    #expect(judge(.google, 400, "payload too large") == .rejectAndAlert(.badRequest))
    #expect(judge(.google, 410, "push subscription has unsubscribed or expired.") == .prune(.gone))
    #expect(judge(.other, 400, page) == .rejectAndAlert(.badRequest))
  }

  @Test(
    arguments: [
      (404, .retry(.unanswered)), (410, .retry(.unanswered)), (400, .retry(.unanswered)),
      (413, .retry(.unanswered)), (302, .retry(.unanswered)), (401, .hold(.badCredentials)),
      (429, .retry(.webPushTooMany)), (503, .retry(.webPushUnavailable)), (201, .accepted),
    ] as [(Int, Disposition)])
  func anAnswerThatBrokeOffIsNotFinal(status: Int, disposition: Disposition) {
    let found = PushServiceAnswers.disposition(status: status, word: nil, .other, isWhole: false)
    #expect(found == disposition)
  }

  @Test(
    arguments: [
      ("updates.push.services.mozilla.com", .mozilla), ("fcm.googleapis.com", .google),
      ("jmt17.google.com", .google), ("web.push.apple.com", .apple),
      ("wns2-by3p.notify.windows.com", .windows), ("push.example.com", .other),
      ("web.push.apple.com.example", .other), ("evilgoogle.com", .other),
    ] as [(String, PushServiceDialect)])
  func theHostTellsTheDialect(host: String, dialect: PushServiceDialect) {
    #expect(PushServiceDialect(host: host) == dialect)
  }

  @Test func operatorsSeeTheWordsThatNoTableExplains() {
    func unknown(
      _ dialect: PushServiceDialect, _ status: Int, _ body: String, _ detail: String? = nil
    ) -> UnknownAnswer? {
      let answer = PlatformAnswer(
        status: status, body: Array(body.utf8), isWhole: true, detail: detail)
      let word = dialect.word(in: answer)
      let found = PushServiceAnswers.disposition(status: status, word: word, dialect)
      return PushServiceAnswers.unknown(status, word, dialect, found)
    }
    #expect(unknown(.apple, 400, #"{"reason":"New"}"#) == UnknownAnswer(status: 400, reason: "New"))
    #expect(unknown(.apple, 403, #"{"reason":"BadJwtToken"}"#) == nil)
    #expect(
      unknown(.mozilla, 400, #"{"errno":107}"#) == UnknownAnswer(status: 400, reason: "errno107"))
    #expect(
      unknown(.windows, 400, "", "Bad cache policy")
        == UnknownAnswer(status: 400, reason: "Badcachepolicy"))
    #expect(unknown(.other, 400, "x") == UnknownAnswer(status: 400, reason: ""))
    #expect(unknown(.google, 410, "gone") == nil && unknown(.google, 503, "") == nil)
  }

  @Test(arguments: ["", "{", "[]", #"{"errno":"109"}"#, #"{"reason":109}"#, "\u{0}"])
  func aBodyInNoFormHasNoWord(body: String) {
    for dialect in [PushServiceDialect.mozilla, .apple, .google, .other] {
      let answer = PlatformAnswer(status: 400, body: Array(body.utf8), isWhole: true)
      #expect(dialect.word(in: answer) == nil)
    }
  }

  @Test func refusalsOfADeviceAndOfAServiceAreTriedTenTimes() {
    let device = RetrySubject.device
    let server = RetrySubject.server
    #expect(PushServiceAnswers.subject(of: .webPushTooMany) == device)
    for reason in [
      RejectionReason.serverError, .webPushUnavailable, .unanswered, .proxyAnswered,
    ] {
      #expect(PushServiceAnswers.subject(of: reason) == server)
    }
    #expect(PushServiceAnswers.subject(of: .gone) == nil)
  }

  @Test func everyReasonIsThePlatforms() {
    let all: [RejectionReason] = [
      .gone, .notFound, .webPushTooLarge, .webPushTooMany, .badCredentials, .credentialsMismatch,
      .badRequest, .serverError, .webPushUnavailable, .redirected,
    ]
    #expect(all.map(\.name) == Platform.webpush.reasons)
    #expect(all.allSatisfy { $0.platform == "webpush" })
  }

  private func judge(
    _ dialect: PushServiceDialect, _ status: Int, _ body: String
  ) -> Disposition {
    let answer = PlatformAnswer(status: status, body: Array(body.utf8), isWhole: true)
    return PushServiceAnswers.disposition(
      status: status, word: dialect.word(in: answer), dialect)
  }
}
