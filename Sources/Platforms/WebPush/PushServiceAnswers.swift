import Deliver
import JSON
import Model
import Subscriptions

/// How a push service explains its refusals: each in its own way.
enum PushServiceDialect: Sendable {
  /// `{"code": …, "errno": …, "error": …, "message": …}` (autopush).
  case mozilla
  /// Plain text or HTML.
  case google
  /// `{"reason": …}`.
  case apple
  /// Header fields alone (WNS).
  case windows
  /// Nothing but the status.
  case other

  private static let suffixes: [(String, PushServiceDialect)] = [
    ("push.services.mozilla.com", .mozilla), ("googleapis.com", .google), ("google.com", .google),
    ("push.apple.com", .apple), ("notify.windows.com", .windows),
  ]

  init(host: String) {
    let name = Array(host.utf8)
    self = Self.suffixes.first { PushEndpoint.isOrEnds(name, with: $0.0) }?.1 ?? .other
  }

  /// The service's word in an answer: an errno, a reason, a phrase; nil for none.
  func word(in answer: PlatformAnswer) -> String? {
    switch self {
    case .mozilla: Self.object(answer.body)?["errno"]?.integer.map { "errno\($0)" }
    case .apple: Self.object(answer.body)?["reason"]?.string
    case .google: Self.googlePhrases.first { answer.body.contains($0.utf8) }
    case .windows: answer.detail
    case .other: nil
    }
  }

  private static let googlePhrases = ["UnauthorizedRegistration"]

  private static func object(_ body: [UInt8]) -> JSONObject? {
    guard !body.isEmpty else { return nil }
    let value = try? JSONValue.parse(
      body, maximumBytes: PushServiceAnswers.maximumBytes, maximumDepth: 4)
    return value?.object
  }
}

/// The reaction to each answer of a push service (RFC 8030, section 5, and what the services do).
enum PushServiceAnswers {
  /// More than any service sends; the rest of a longer body is not kept.
  static let maximumBytes = 4096
  /// The header field in which WNS explains a refusal.
  static let windowsField = "x-wns-error-description"

  /// - Parameter word: the service's; see `PushServiceDialect`.
  static func disposition(
    status: Int, word: String?, _ dialect: PushServiceDialect, isWhole: Bool = true
  ) -> Disposition {
    if let word, let known = words(of: dialect)[word] { return known }
    let byStatus = disposition(status: status)
    guard !isWhole else { return byStatus }
    // What broke off might have said more, and these are final.
    return switch byStatus {
    case .prune, .reject, .rejectAndAlert: .retry(.unanswered)
    default: byStatus
    }
  }

  private static func words(of dialect: PushServiceDialect) -> [String: Disposition] {
    switch dialect {
    case .mozilla: mozilla
    case .google: google
    case .apple: apple
    case .windows, .other: [:]
    }
  }

  /// autopush's errors. 201 comes with 429 and with 503, and is left to the status.
  private static let mozilla: [String: Disposition] = {
    var all: [String: Disposition] = [:]
    func put(_ numbers: [Int], _ disposition: Disposition) {
      for number in numbers { all["errno\(number)"] = disposition }
    }
    // Headers of encryption, the encryption itself, no TTL, a bad topic, a bad TTL.
    put([101, 108, 110, 111, 112, 113, 114], .rejectAndAlert(.badRequest))
    put([102], .prune(.notFound))
    put([103, 105, 106], .prune(.gone))
    put([104], .reject(.webPushTooLarge))
    // Any fault of the VAPID token.
    put([109], .hold(.badCredentials))
    put([202], .retry(.webPushUnavailable))
    // The service behind this one, for Firefox on phones; then anything else.
    put([900, 901, 902, 903, 999], .retry(.serverError))
    return all
  }()

  /// It comes with 400, and means the VAPID token, not the message.
  private static let google: [String: Disposition] = [
    "UnauthorizedRegistration": .hold(.badCredentials)
  ]

  private static let apple: [String: Disposition] = [
    "BadTtl": .rejectAndAlert(.badRequest), "BadUrgency": .rejectAndAlert(.badRequest),
    "BadWebPushTopic": .rejectAndAlert(.badRequest),
    "BadWebPushRequest": .rejectAndAlert(.badRequest),
    "BadJwtToken": .hold(.badCredentials), "BadVapidPublicKey": .hold(.badCredentials),
    // With 400 as well as with 403.
    "VapidPkHashMismatch": .hold(.credentialsMismatch),
    "PayloadTooLarge": .reject(.webPushTooLarge),
  ]

  private static func disposition(status: Int) -> Disposition {
    switch status {
    case 200, 201, 202: .accepted
    case 300...399: .rejectAndAlert(.redirected)
    case 401: .hold(.badCredentials)
    case 403: .hold(.credentialsMismatch)
    case 404: .prune(.notFound)
    case 410: .prune(.gone)
    case 413: .reject(.webPushTooLarge)
    // WNS says 406 where others say 429.
    case 406, 429: .retry(.webPushTooMany)
    case 408, 425, 503, 504: .retry(.webPushUnavailable)
    case 421: .retryElsewhere(.webPushUnavailable)
    // Who wants a login is a proxy of ours.
    case 407: .retry(.proxyAnswered)
    case 400...499: .rejectAndAlert(.badRequest)
    case 500...599: .retry(.serverError)
    default: .retry(.proxyAnswered)
    }
  }

  /// Ten tries are a minute with the default back-off; an event's news is not worth more.
  static func subject(of reason: RejectionReason) -> RetrySubject? {
    switch reason {
    case .webPushTooMany: .device
    case .serverError, .webPushUnavailable, .unanswered, .proxyAnswered:
      .server
    default: nil
    }
  }

  /// The answer, where an operator has to look at it and no table of ours explains it.
  static func unknown(
    _ status: Int, _ word: String?, _ dialect: PushServiceDialect, _ disposition: Disposition
  ) -> UnknownAnswer? {
    if let word, words(of: dialect)[word] != nil { return nil }
    return switch disposition {
    case .hold, .rejectAndAlert, .retry(.proxyAnswered):
      UnknownAnswer(status: status, reason: word ?? "")
    default: nil
    }
  }
}
