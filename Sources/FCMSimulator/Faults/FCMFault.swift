/// The faults that a magic token, a rule or a share of a script can ask for.
package enum FCMFault: String, CaseIterable, Sendable {
  case unregistered
  case senderIDMismatch = "sender_id_mismatch"
  case thirdPartyAuth = "third_party_auth"
  /// INVALID_ARGUMENT that names the token, or the payload.
  case badToken = "bad_token"
  case badPayload = "bad_payload"
  /// 404 and 403 of the project, without FcmError.
  case notFound = "not_found"
  case forbidden
  case projectQuota = "project_quota"
  case deviceQuota = "device_quota"
  case `internal`
  case unavailable
  case unavailableSeconds = "unavailable_seconds"
  case unavailableDate = "unavailable_date"
  /// 502 with a page of HTML; 500 with nothing.
  case badGateway = "bad_gateway"
  case emptyInternal = "empty_internal"
  /// The access token of this request has expired from now on.
  case expiredBearer = "expired_bearer"
  /// Nothing, ever.
  case silence
  /// RST_STREAM with INTERNAL_ERROR, or with REFUSED_STREAM.
  case reset
  case refusedStream = "refused_stream"
  /// The connection closes without an answer to anything that is open on it.
  case drop

  /// Seconds of `Retry-After` when nobody says how many.
  package static let usualRetryAfter = 3

  /// The answer, of a fault that has one.
  package var refusal: FCMRefusal? {
    switch self {
    case .unregistered:
      FCMRefusal(404, "NOT_FOUND", Self.noEntity, [.fcmError("UNREGISTERED")])
    case .senderIDMismatch:
      FCMRefusal(403, "PERMISSION_DENIED", "SenderId mismatch", [.fcmError("SENDER_ID_MISMATCH")])
    case .thirdPartyAuth:
      FCMRefusal(
        401, "UNAUTHENTICATED", "Auth error from APNS or Web Push Service",
        [.fcmError("THIRD_PARTY_AUTH_ERROR")])
    case .badToken: .badToken
    case .badPayload:
      .badPayload("message.data", "Invalid value in the payload of the message")
    case .notFound: FCMRefusal(404, "NOT_FOUND", Self.noEntity)
    case .forbidden:
      FCMRefusal(
        403, "PERMISSION_DENIED",
        "Permission 'cloudmessaging.messages.create' denied on the resource of the project",
        [.errorInfo(reason: "IAM_PERMISSION_DENIED")])
    case .projectQuota: .projectQuota
    case .deviceQuota:
      FCMRefusal(
        429, "RESOURCE_EXHAUSTED", "Device message rate exceeded",
        [
          .fcmError("QUOTA_EXCEEDED"),
          .quotaFailure(subject: "device:token", description: "Device message rate exceeded"),
        ])
    case .internal:
      FCMRefusal(500, "INTERNAL", "Internal error encountered.", [.fcmError("INTERNAL")])
    case .unavailable: .unavailable(nil)
    case .unavailableSeconds: .unavailable(.seconds(Self.usualRetryAfter))
    case .unavailableDate: .unavailable(.date(Self.usualRetryAfter))
    case .badGateway:
      FCMRefusal(
        502, "", "",
        body:
          "<!DOCTYPE html>\n<html lang=en>\n<title>Error 502 (Server Error)!!1</title>\n</html>\n"
      )
    case .emptyInternal: FCMRefusal(500, "", "", body: "")
    case .expiredBearer: .expiredBearer
    case .silence, .reset, .refusedStream, .drop: nil
    }
  }

  private static let noEntity = "Requested entity was not found."
}

extension FCMRefusal {
  static let badToken = FCMRefusal(
    400, "INVALID_ARGUMENT", "The registration token is not a valid FCM registration token",
    [
      .fcmError("INVALID_ARGUMENT"),
      .badRequest(field: "message.token", description: "Invalid registration token"),
    ])

  /// Of a value that is of the right type and not allowed.
  static func badPayload(_ field: String, _ description: String) -> FCMRefusal {
    FCMRefusal(
      400, "INVALID_ARGUMENT", description,
      [.fcmError("INVALID_ARGUMENT"), .badRequest(field: field, description: description)])
  }

  /// Of a body that Google's front end cannot read as the message: FCM has not seen it, and there
  /// is no FcmError.
  static func unreadable(_ field: String, _ description: String) -> FCMRefusal {
    FCMRefusal(
      400, "INVALID_ARGUMENT", description,
      [.badRequest(field: field, description: description)])
  }

  static let projectQuota = FCMRefusal(
    429, "RESOURCE_EXHAUSTED",
    "Quota exceeded for quota metric 'Send requests' and limit 'Send requests per minute'",
    [
      .fcmError("QUOTA_EXCEEDED"),
      .quotaFailure(subject: "project", description: "Send requests per minute exceeded"),
    ])

  static func unavailable(_ retryAfter: RetryAfter?) -> FCMRefusal {
    FCMRefusal(
      503, "UNAVAILABLE", "The service is currently unavailable.", [.fcmError("UNAVAILABLE")],
      retryAfter: retryAfter)
  }

  private static let invalidCredentials =
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie "
    + "or other valid authentication credential."

  static let missingBearer = FCMRefusal(
    401, "UNAUTHENTICATED",
    "Request is missing required authentication credential. Expected OAuth 2 access token, login "
      + "cookie or other valid authentication credential.",
    [.errorInfo(reason: "CREDENTIALS_MISSING")])
  static let unknownBearer = FCMRefusal(
    401, "UNAUTHENTICATED", invalidCredentials,
    [.errorInfo(reason: "ACCESS_TOKEN_TYPE_UNSUPPORTED")])
  static let expiredBearer = FCMRefusal(
    401, "UNAUTHENTICATED", invalidCredentials, [.errorInfo(reason: "ACCESS_TOKEN_EXPIRED")])
  static let narrowBearer = FCMRefusal(
    403, "PERMISSION_DENIED", "Request had insufficient authentication scopes.",
    [.errorInfo(reason: "ACCESS_TOKEN_SCOPE_INSUFFICIENT")])
  static let wrongProject = FCMRefusal(404, "NOT_FOUND", "Requested entity was not found.")
  /// Of a path or method that nobody serves.
  static let noPage = FCMRefusal(
    404, "", "",
    body: "<!DOCTYPE html>\n<html lang=en>\n<title>Error 404 (Not Found)!!1</title>\n</html>\n")
}

/// The server's reaction to one request.
package enum FCMAnswer: Sendable, Equatable {
  case accept
  case refuse(FCMRefusal)
  /// Refuses the access token from now on.
  case expireBearer
  /// RST_STREAM with this code, without an answer.
  case reset(UInt32)
  case silence
  case drop

  package init(_ fault: FCMFault) {
    switch fault {
    case .expiredBearer: self = .expireBearer
    case .silence: self = .silence
    case .drop: self = .drop
    // INTERNAL_ERROR and REFUSED_STREAM (RFC 9113, section 7).
    case .reset: self = .reset(2)
    case .refusedStream: self = .reset(7)
    default: self = fault.refusal.map(FCMAnswer.refuse) ?? .silence
    }
  }
}

/// Registration tokens that choose their own answer. A token of the form
///
///     fault:N:NAME        or        fault:N:NAME:anything
///
/// gets the fault NAME (`FCMFault`) on its first N tries and is accepted afterwards; N = 0: on
/// every try.
package enum MagicTokens {
  package static func token(_ fault: FCMFault, tries: Int = 0, _ rest: String = "") -> String {
    "fault:\(tries):\(fault.rawValue)" + (rest.isEmpty ? "" : ":\(rest)")
  }

  private static let prefix = Array("fault:".utf8)
  private static let faults: [[UInt8]: FCMAnswer] = Dictionary(
    uniqueKeysWithValues: FCMFault.allCases.map { (Array($0.rawValue.utf8), FCMAnswer($0)) })

  /// - Parameter tries: the requests for this token before this one.
  static func answer(_ token: [UInt8], tries: UInt32) -> FCMAnswer? {
    guard token.starts(with: prefix) else { return nil }
    let parts = token.split(
      separator: UInt8(ascii: ":"), maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count >= 3, let limit = UInt32(String(decoding: parts[1], as: UTF8.self)),
      limit == 0 || tries < limit
    else { return nil }
    return faults[Array(parts[2])]
  }
}
