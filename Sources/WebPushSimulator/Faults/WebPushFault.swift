/// The faults that the address of a subscription, a rule or a share of a script can ask for. Each
/// service answers in its own way.
package enum WebPushFault: String, CaseIterable, Sendable {
  /// 410. With one try: what Google does to a subscription that is seconds old.
  case gone
  case notFound = "not_found"
  /// 429 with `Retry-After`; WNS: 406.
  case tooMany = "too_many"
  /// 406 with `Retry-After: 900`, whatever the service.
  case throttled
  case tooLarge = "too_large"
  case badRequest = "bad_request"
  /// What is wrong with the VAPID token: it is missing, it is none, it is not in order, its key is
  /// no key, its key is another than the subscription's.
  case unauthorized
  case unauthorizedRegistration = "unauthorized_registration"
  case badToken = "bad_token"
  case badKey = "bad_key"
  case otherKey = "other_key"
  /// 307 to another host.
  case redirect
  case `internal`
  /// 502; Mozilla: the service behind it failed.
  case badGateway = "bad_gateway"
  case unavailable
  /// Accepted, after the time that the script says.
  case slow
  /// Nothing, ever.
  case silence
  /// RST_STREAM with INTERNAL_ERROR, or with REFUSED_STREAM. With HTTP/1.1 the connection closes.
  case reset
  case refusedStream = "refused_stream"
  /// GOAWAY, and this request is above its last stream. With HTTP/1.1 the connection closes.
  case goAway = "goaway"
  /// The connection closes without an answer to anything that is open on it.
  case drop

  private var reason: WebPushRefusal.Reason? {
    switch self {
    case .gone: .gone
    case .notFound: .unknownSubscription
    case .tooMany: .tooMany
    case .throttled: .throttled
    case .tooLarge: .tooLarge
    case .badRequest: .badRequest
    case .unauthorized: .noAuthorization
    case .unauthorizedRegistration: .badAuthorization
    case .badToken: .badToken
    case .badKey: .badKey
    case .otherKey: .otherKey
    case .redirect: .redirect
    case .internal: .internalError
    case .badGateway: .badGateway
    case .unavailable: .unavailable
    case .slow, .silence, .reset, .refusedStream, .goAway, .drop: nil
    }
  }

  /// The refusal, of a fault that is one.
  package var refusal: WebPushRefusal? { reason.map { WebPushRefusal($0) } }
}

/// The server's reaction to one request.
package enum WebPushAnswer: Sendable, Equatable {
  case accept
  /// Accepts after the script's time for slow answers.
  case acceptSlowly
  case refuse(WebPushRefusal)
  /// A script's own response.
  case respond(ServiceAnswer)
  /// RST_STREAM with this code, without an answer.
  case reset(UInt32)
  case goAway
  case silence
  case drop

  package init(_ fault: WebPushFault) {
    switch fault {
    case .slow: self = .acceptSlowly
    case .silence: self = .silence
    case .drop: self = .drop
    case .goAway: self = .goAway
    // INTERNAL_ERROR and REFUSED_STREAM (RFC 9113, section 7).
    case .reset: self = .reset(2)
    case .refusedStream: self = .reset(7)
    default: self = fault.refusal.map(WebPushAnswer.refuse) ?? .silence
    }
  }
}
