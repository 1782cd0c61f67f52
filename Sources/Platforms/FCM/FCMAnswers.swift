import Deliver
import JSON
import Model

/// The reaction to each answer of FCM, by status and error code ("ErrorCode", "FCM error codes").
///
/// A status alone never costs a device its token: a wrong project is a 404, too, and a payload that
/// is too large a 400. Only FCM's own code (`FcmError`) or the name of the token's field does.
enum FCMAnswers {
  /// Google: "retry with an initial delay of one minute" after a 429 without `Retry-After`.
  static let waitAfterQuota: Duration = .seconds(60)
  /// Google: ten seconds at least before the first retry of a 5xx.
  static let waitAfterFault: Duration = .seconds(10)

  /// - Parameter isWhole: the answer was read to its end. Where one broke off whose status alone
  ///   is final, nobody knows what it would have said: the push is sent again.
  static func disposition(status: Int, _ said: FCMAnswer, isWhole: Bool = true) -> Disposition {
    if status == 200 { return .accepted }
    switch (status, said.errorCode) {
    case (404, "UNREGISTERED"): return .prune(.unregistered)
    // Final for this token. While most tokens are refused so, Record sets none aside: then the
    // credentials are of the wrong project.
    case (403, "SENDER_ID_MISMATCH"): return .setAside(.senderIDMismatch)
    case (400, _) where said.namesToken: return .setAside(.invalidArgument)
    // No token of ours is meant, but the project's key for Apple or for browsers.
    case (_, "THIRD_PARTY_AUTH_ERROR"): return .hold(.thirdPartyAuthError)
    case (429, _): return .retry(said.isAboutDevice ? .deviceQuotaExceeded : .quotaExceeded)
    default: break
    }
    let byStatus = disposition(status: status)
    if !isWhole, case .rejectAndAlert = byStatus { return .retry(.unanswered) }
    return byStatus
  }

  /// Of answers that name nothing else, HTML and empty ones among them. What HTTP lets a client
  /// send again is sent again (RFC 9110, sections 15.5 and 15.6; RFC 8470 for 425).
  private static func disposition(status: Int) -> Disposition {
    switch status {
    case 400: .rejectAndAlert(.invalidArgument)
    case 401: .renew(.unauthenticated)
    case 403: .hold(.permissionDenied)
    case 404: .hold(.notFound)
    case 408, 425: .retry(.unavailable)
    case 421: .retryElsewhere(.unavailable)
    case 500: .retry(.internal)
    case 402, 405...499: .rejectAndAlert(.other)
    case 501...599: .retry(.unavailable)
    // Google sends none of these.
    default: .retry(.proxyAnswered)
    }
  }

  /// Before a retry, where the answer has no `Retry-After`.
  static func minimumWait(_ disposition: Disposition, status: Int) -> Duration? {
    switch disposition {
    case .retry(.quotaExceeded), .retry(.deviceQuotaExceeded): waitAfterQuota
    case .retry where (500...599).contains(status): waitAfterFault
    default: nil
    }
  }

  /// A device's quota is of minutes and hours, so that few tries fit into an event's time.
  static func subject(of reason: RejectionReason) -> RetrySubject? {
    switch reason {
    case .deviceQuotaExceeded: .device
    case .quotaExceeded, .unavailable, .internal, .unanswered, .proxyAnswered:
      .server
    default: nil
    }
  }

  /// An answer that FCM does not document: a new code, or one that is not in its form. Where
  /// credentials are refused, Google's own word for the cause (`SERVICE_DISABLED`) is what an
  /// operator needs.
  static func unknown(
    _ status: Int, _ said: FCMAnswer, _ disposition: Disposition
  ) -> UnknownAnswer? {
    guard said.isFCMs else { return UnknownAnswer(status: status, reason: "") }
    if case .hold = disposition, let cause = said.cause {
      return UnknownAnswer(status: status, reason: cause)
    }
    guard let code = said.errorCode, !documented.contains(code) else { return nil }
    return UnknownAnswer(status: status, reason: code)
  }

  private static let documented: Set = [
    "UNSPECIFIED_ERROR", "INVALID_ARGUMENT", "UNREGISTERED", "SENDER_ID_MISMATCH",
    "QUOTA_EXCEEDED", "UNAVAILABLE", "INTERNAL", "THIRD_PARTY_AUTH_ERROR",
  ]
}

/// The body of a refused request: `{"error": {"code", "message", "status", "details": […]}}`, as
/// far as it decides anything.
struct FCMAnswer: Equatable {
  /// The answer has the form of Google's errors.
  private(set) var isFCMs = false
  /// Of `FcmError`.
  private(set) var errorCode: String?
  /// It is the token that is wrong, not the rest of the request.
  private(set) var namesToken = false
  /// The quota that is used up is the device's.
  private(set) var isAboutDevice = false
  /// Of `ErrorInfo`.
  private(set) var cause: String?

  /// Some times the longest known; the rest of a longer body is not kept.
  static let maximumBytes = 8192

  /// A body that is not what Google documents says nothing; the status decides then.
  init(body: [UInt8]) {
    guard !body.isEmpty,
      let value = try? JSONValue.parse(body, maximumBytes: Self.maximumBytes, maximumDepth: 16),
      let error = value.object?["error"]?.object
    else { return }
    isFCMs = error["status"]?.string != nil
    let details = (error["details"]?.array ?? []).compactMap(\.object)
    func all(_ type: String) -> [JSONObject] {
      details.filter { Self.isType($0["@type"]?.string, type) }
    }
    errorCode =
      all("google.firebase.fcm.v1.FcmError").lazy
      .compactMap { $0["errorCode"]?.string }.first
    cause = all("google.rpc.ErrorInfo").lazy.compactMap { $0["reason"]?.string }.first
    let fields = all("google.rpc.BadRequest").flatMap { $0["fieldViolations"]?.array ?? [] }
      .compactMap { $0.object?["field"]?.string }
    // The text may change: it decides only where no field is named.
    namesToken =
      fields.isEmpty
      ? error["message"]?.string?.contains(Self.badTokenText) == true
      : fields.contains { $0 == "message.token" || $0 == "message.fid" }
    isAboutDevice = all("google.rpc.QuotaFailure").flatMap { $0["violations"]?.array ?? [] }
      .contains { violation in
        ["subject", "description"].contains {
          violation.object?[$0]?.string?.lowercased().contains("device") == true
        }
      }
  }

  private static let badTokenText = "not a valid FCM registration token"

  /// `type.googleapis.com/google.rpc.ErrorInfo` is of type `google.rpc.ErrorInfo`.
  private static func isType(_ given: String?, _ type: String) -> Bool {
    guard let given else { return false }
    return given == type || given.hasSuffix("/" + type)
  }
}
