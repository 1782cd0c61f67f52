/// How a push service answers, which follows from the host of a subscription. This table is the
/// simulator's own: it judges the sender, and shares no rule with it.
package enum ServiceDialect: String, CaseIterable, Sendable {
  case google, mozilla, apple, windows, other

  /// - Parameter host: in lower case, without a port.
  package init(host: String) {
    switch host {
    case "fcm.googleapis.com": self = .google
    case "updates.push.services.mozilla.com": self = .mozilla
    case _ where host.hasSuffix(".push.apple.com"): self = .apple
    case _ where host.hasSuffix(".notify.windows.com"): self = .windows
    default: self = .other
    }
  }

  /// What comes before the secret in the address of a subscription. Microsoft's is in the query.
  package var pathPrefix: String {
    switch self {
    case .google: "/fcm/send/"
    case .mozilla: "/wpush/v2/"
    case .apple: "/"
    case .windows: "/w/?token="
    case .other: "/push/"
    }
  }

  /// Answers as the service does.
  func answer(to refusal: WebPushRefusal) -> ServiceAnswer {
    let seconds = refusal.retryAfter ?? usualRetryAfter(refusal.reason)
    var answer =
      switch self {
      case .google: googleAnswer(refusal.reason)
      case .mozilla: mozillaAnswer(refusal)
      case .apple: appleAnswer(refusal.reason)
      case .windows: windowsAnswer(refusal)
      case .other: ServiceAnswer(status: status(refusal.reason))
      }
    if let seconds { answer.add("retry-after", String(seconds)) }
    if refusal.reason == .redirect { answer.add("location", Self.otherPlace) }
    return answer
  }

  private static let otherPlace = "https://elsewhere.push.test/push/moved"

  /// Nil: the service names no time.
  private func usualRetryAfter(_ reason: WebPushRefusal.Reason) -> Int? {
    switch (self, reason) {
    case (_, .throttled), (.windows, .tooMany): 900
    case (.mozilla, .tooMany), (.mozilla, .unavailable): 120
    case (_, .tooMany): 30
    default: nil
    }
  }

  /// RFC 8030, sections 5 and 7, and RFC 8292, section 4.
  private func status(_ reason: WebPushRefusal.Reason) -> Int {
    switch reason {
    case .badMethod: 405
    case .unknownSubscription: 404
    case .gone: 410
    case .noTTL, .badTTL, .badUrgency, .badTopic, .badEncoding, .oldEncryption, .unreadable,
      .badCachePolicy, .badRequest:
      400
    case .tooLarge: 413
    case .noAuthorization, .badAuthorization: 401
    case .badToken, .badKey, .otherKey: 403
    case .tooMany: 429
    case .throttled: 406
    case .redirect: 307
    case .internalError: 500
    case .badGateway: 502
    case .unavailable: 503
    }
  }
}

extension ServiceDialect {
  /// Plain text and HTML. Seen: web-push #457, #679, web-push-php #325 and, for a token that is
  /// none, web-push #277.
  private func googleAnswer(_ reason: WebPushRefusal.Reason) -> ServiceAnswer {
    switch reason {
    // Over 4,096 bytes Google answers 400.
    case .tooLarge: .text(400, "invalid argument: the payload is too large\n")
    case .noAuthorization: .text(401, "authorization header must be specified.\n")
    case .badAuthorization:
      ServiceAnswer(
        status: 400, type: "text/html; charset=UTF-8",
        body: "<HTML>\n<HEAD>\n<TITLE>UnauthorizedRegistration</TITLE>\n</HEAD>\n"
          + "<BODY>\n<H1>UnauthorizedRegistration</H1>\n<H2>Error 400</H2>\n</BODY>\n</HTML>\n")
    case .badToken, .badKey: .text(403, "permission denied: invalid JWT provided\n")
    case .otherKey:
      .text(
        403,
        "permission denied: the VAPID credentials in the authorization header do not correspond "
          + "to the credentials used to create the subscriptions.\n")
    case .gone: .text(410, "push subscription has unsubscribed or expired.\n")
    case .internalError, .badGateway, .unavailable:
      ServiceAnswer(
        status: status(reason), type: "text/html; charset=UTF-8",
        body: "<!DOCTYPE html>\n<html lang=en>\n<title>Error \(status(reason)) (Server Error)!!1"
          + "</title>\n</html>\n")
    default: .text(status(reason), "\(reason.rawValue)\n")
    }
  }

  /// JSON with an errno (autopush, docs/src/http.md).
  private func mozillaAnswer(_ refusal: WebPushRefusal) -> ServiceAnswer {
    let (status, number): (Int, Int) =
      switch refusal.reason {
      case .badMethod: (405, 999)
      case .unknownSubscription: (404, 102)
      case .gone: (410, 106)
      case .noTTL, .badUrgency, .badRequest, .badCachePolicy: (400, 111)
      case .badTTL: (400, 114)
      case .badTopic: (400, 113)
      case .oldEncryption: (400, 101)
      case .badEncoding, .unreadable: (400, 110)
      case .tooLarge: (413, 104)
      // Every fault of the token, and another key than the subscription's.
      case .noAuthorization, .badAuthorization, .badToken, .badKey, .otherKey: (401, 109)
      case .tooMany, .throttled: (429, 201)
      case .unavailable: (503, 201)
      case .internalError: (500, 999)
      case .badGateway: (502, 900)
      case .redirect: (307, 999)
      }
    return .json(
      status,
      [
        "code": .integer(Int64(status)), "errno": .integer(Int64(number)),
        "error": .string(ServiceAnswer.phrase(status)), "message": .string(refusal.text),
        "more_info": "http://autopush.readthedocs.io/en/latest/http.html#error-codes",
      ])
  }

  /// JSON with a reason ("Sending web push notifications in web apps and browsers"). The reasons of
  /// 404, 410, 429 and 5xx are those of APNs: Apple names none for Web Push.
  private func appleAnswer(_ reason: WebPushRefusal.Reason) -> ServiceAnswer {
    let word =
      switch reason {
      case .badMethod: "MethodNotAllowed"
      case .unknownSubscription: "BadPath"
      case .gone: "Unregistered"
      case .noTTL, .badTTL: "BadTtl"
      case .badUrgency: "BadUrgency"
      case .badTopic: "BadWebPushTopic"
      case .badEncoding, .oldEncryption, .unreadable, .badRequest, .badCachePolicy, .redirect:
        "BadWebPushRequest"
      case .tooLarge: "PayloadTooLarge"
      case .noAuthorization, .badAuthorization, .badToken: "BadJwtToken"
      case .badKey: "BadVapidPublicKey"
      case .otherKey: "VapidPkHashMismatch"
      case .tooMany, .throttled: "TooManyRequests"
      case .internalError, .badGateway: "InternalServerError"
      case .unavailable: "ServiceUnavailable"
      }
    let isCredential = reason == .noAuthorization || reason == .badAuthorization
    return .json(isCredential ? 403 : status(reason), ["reason": .string(word)])
  }

  /// Header fields alone (Microsoft Learn, "Push notification service request and response
  /// headers"). WNS throttles with 406.
  private func windowsAnswer(_ refusal: WebPushRefusal) -> ServiceAnswer {
    let reason = refusal.reason
    var answer = ServiceAnswer(status: reason == .tooMany ? 406 : status(reason))
    let isThrottled = reason == .tooMany || reason == .throttled
    answer.add("x-wns-status", isThrottled ? "channelthrottled" : "dropped")
    answer.add("x-wns-notificationstatus", isThrottled ? "channelthrottled" : "dropped")
    answer.add("x-wns-error-description", refusal.text)
    return answer
  }
}
