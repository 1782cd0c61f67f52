import Model
import Testing

@testable import Deliver
@testable import FCM

/// Bodies as Google writes them.
func errorBody(
  _ status: String, code: String? = nil, message: String = "Some words.", details: [String] = []
) -> [UInt8] {
  let fcm = code.map {
    #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#($0)"}"#
  }
  let all = (details + [fcm].compactMap { $0 }).joined(separator: ",")
  return Array(
    #"{"error":{"code":0,"message":"\#(message)","status":"\#(status)","details":[\#(all)]}}"#.utf8)
}

func violation(of field: String) -> String {
  #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":"#
    + #"[{"field":"\#(field)","description":"Invalid value"}]}"#
}

func quota(_ subject: String, _ description: String) -> String {
  #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":"#
    + #"[{"subject":"\#(subject)","description":"\#(description)"}]}"#
}

func cause(_ reason: String) -> String {
  #"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"\#(reason)"}"#
}

@Suite struct AnswerTests {
  private static func disposition(
    _ status: Int, _ body: [UInt8], isWhole: Bool = true
  ) -> Disposition {
    FCMAnswers.disposition(status: status, FCMAnswer(body: body), isWhole: isWhole)
  }

  @Test(
    arguments: [
      (404, errorBody("NOT_FOUND", code: "UNREGISTERED"), .prune(.unregistered)),
      (404, errorBody("NOT_FOUND"), .hold(.notFound)),
      (404, errorBody("NOT_FOUND", code: "SOMETHING_NEW"), .hold(.notFound)),
      (400, errorBody("NOT_FOUND", code: "UNREGISTERED"), .rejectAndAlert(.invalidArgument)),
      (
        403, errorBody("PERMISSION_DENIED", code: "SENDER_ID_MISMATCH"),
        .setAside(.senderIDMismatch)
      ),
      (404, errorBody("NOT_FOUND", code: "SENDER_ID_MISMATCH"), .hold(.notFound)),
      (403, errorBody("PERMISSION_DENIED"), .hold(.permissionDenied)),
      (
        403, errorBody("PERMISSION_DENIED", details: [cause("SERVICE_DISABLED")]),
        .hold(.permissionDenied)
      ),
      (400, errorBody("INVALID_ARGUMENT"), .rejectAndAlert(.invalidArgument)),
      (
        400, errorBody("INVALID_ARGUMENT", code: "INVALID_ARGUMENT"),
        .rejectAndAlert(.invalidArgument)
      ),
      (
        400,
        errorBody(
          "INVALID_ARGUMENT", code: "INVALID_ARGUMENT", details: [violation(of: "message.token")]),
        .setAside(.invalidArgument)
      ),
      (
        400, errorBody("INVALID_ARGUMENT", details: [violation(of: "message.fid")]),
        .setAside(.invalidArgument)
      ),
      (
        400,
        errorBody(
          "INVALID_ARGUMENT", code: "INVALID_ARGUMENT",
          message: "The registration token is not a valid FCM registration token"),
        .setAside(.invalidArgument)
      ),
      // A field that is named outweighs the text.
      (
        400,
        errorBody(
          "INVALID_ARGUMENT", message: "This is not a valid FCM registration token, or so",
          details: [violation(of: "message.data")]),
        .rejectAndAlert(.invalidArgument)
      ),
      (401, errorBody("UNAUTHENTICATED"), .renew(.unauthenticated)),
      (
        401, errorBody("UNAUTHENTICATED", details: [cause("ACCESS_TOKEN_EXPIRED")]),
        .renew(.unauthenticated)
      ),
      (
        401, errorBody("UNAUTHENTICATED", code: "THIRD_PARTY_AUTH_ERROR"),
        .hold(.thirdPartyAuthError)
      ),
      (429, errorBody("RESOURCE_EXHAUSTED", code: "QUOTA_EXCEEDED"), .retry(.quotaExceeded)),
      (
        429,
        errorBody(
          "RESOURCE_EXHAUSTED", code: "QUOTA_EXCEEDED",
          details: [quota("project:p-1", "Message rate exceeded")]), .retry(.quotaExceeded)
      ),
      (
        429,
        errorBody(
          "RESOURCE_EXHAUSTED", code: "QUOTA_EXCEEDED",
          details: [quota("token", "Device message rate exceeded")]), .retry(.deviceQuotaExceeded)
      ),
      (
        429, errorBody("RESOURCE_EXHAUSTED", details: [quota("device:abc", "Rate exceeded")]),
        .retry(.deviceQuotaExceeded)
      ),
      (500, errorBody("INTERNAL", code: "INTERNAL"), .retry(.internal)),
      (503, errorBody("UNAVAILABLE", code: "UNAVAILABLE"), .retry(.unavailable)),
      (400, errorBody("UNKNOWN", code: "UNSPECIFIED_ERROR"), .rejectAndAlert(.invalidArgument)),
      (409, errorBody("ABORTED"), .rejectAndAlert(.other)),
      (200, [], .accepted),
    ] as [(Int, [UInt8], Disposition)])
  func judgesEachAnswer(status: Int, body: [UInt8], expected: Disposition) {
    #expect(Self.disposition(status, body) == expected)
  }

  /// Whoever wrote these, none is about a device.
  @Test(
    arguments: [
      (301, .retry(.proxyAnswered)), (400, .rejectAndAlert(.invalidArgument)),
      (401, .renew(.unauthenticated)), (402, .rejectAndAlert(.other)),
      (403, .hold(.permissionDenied)), (404, .hold(.notFound)), (405, .rejectAndAlert(.other)),
      (408, .retry(.unavailable)), (413, .rejectAndAlert(.other)),
      (421, .retryElsewhere(.unavailable)), (425, .retry(.unavailable)),
      (429, .retry(.quotaExceeded)), (500, .retry(.internal)), (501, .retry(.unavailable)),
      (502, .retry(.unavailable)), (503, .retry(.unavailable)), (599, .retry(.unavailable)),
      (999, .retry(.proxyAnswered)),
    ] as [(Int, Disposition)])
  func judgesHTMLAndNothingByTheStatus(status: Int, expected: Disposition) {
    for body in ["", "<!DOCTYPE html><title>Error</title>", "[]", #"{"error":"no"}"#] {
      #expect(Self.disposition(status, Array(body.utf8)) == expected)
    }
  }

  /// What broke off may have been about anything: only what is not final stays as it is.
  @Test func anAnswerThatBrokeOffIsNotFinal() {
    let body = errorBody("INVALID_ARGUMENT", details: [violation(of: "message.token")])
    #expect(Self.disposition(400, body.dropLast(40), isWhole: false) == .retry(.unanswered))
    #expect(Self.disposition(404, body.dropLast(40), isWhole: false) == .hold(.notFound))
    #expect(Self.disposition(503, [], isWhole: false) == .retry(.unavailable))
    // All that decides had come.
    #expect(Self.disposition(400, body, isWhole: false) == .setAside(.invalidArgument))
  }

  @Test(
    arguments: [
      (429, [], .seconds(60)), (429, errorBody("X", details: [quota("device", "")]), .seconds(60)),
      (500, [], .seconds(10)), (503, [], .seconds(10)), (408, [], nil), (301, [], nil),
      (404, errorBody("NOT_FOUND", code: "UNREGISTERED"), nil),
    ] as [(Int, [UInt8], Duration?)])
  func aRetryWaitsAsLongAsGoogleAsks(status: Int, body: [UInt8], wait: Duration?) {
    let found = Self.disposition(status, body)
    #expect(FCMAnswers.minimumWait(found, status: status) == wait)
  }

  @Test func aDevicesQuotaSpeaksOfTheDeviceAndAllElseOfFCM() {
    #expect(FCMAnswers.subject(of: .deviceQuotaExceeded) == .device)
    for reason: RejectionReason in [
      .quotaExceeded, .unavailable, .internal, .unanswered, .proxyAnswered,
    ] { #expect(FCMAnswers.subject(of: reason) == .server) }
    for reason: RejectionReason in [.unauthenticated, .unregistered, .notFound] {
      #expect(FCMAnswers.subject(of: reason) == nil)
    }
  }

  @Test(
    arguments: [
      (404, errorBody("NOT_FOUND", code: "UNREGISTERED"), nil),
      (404, errorBody("NOT_FOUND"), nil),
      (401, errorBody("UNAUTHENTICATED", details: [cause("ACCESS_TOKEN_EXPIRED")]), nil),
      (502, Array("<html>".utf8), UnknownAnswer(status: 502, reason: "")),
      (400, errorBody("A", code: "NEW"), UnknownAnswer(status: 400, reason: "NEW")),
      // An operator needs Google's word for why credentials are refused.
      (
        403, errorBody("PERMISSION_DENIED", details: [cause("SERVICE_DISABLED")]),
        UnknownAnswer(status: 403, reason: "SERVICE_DISABLED")
      ),
    ] as [(Int, [UInt8], UnknownAnswer?)])
  func tellsWhatIsNotDocumented(status: Int, body: [UInt8], unknown: UnknownAnswer?) {
    let said = FCMAnswer(body: body)
    let found = FCMAnswers.disposition(status: status, said)
    #expect(FCMAnswers.unknown(status, said, found) == unknown)
  }

  @Test func readsTheCodeOfFCMsOwnDetailOnly() {
    let other = #"{"@type":"type.googleapis.com/a.FcmError","errorCode":"UNREGISTERED"}"#
    let nameless = #"{"errorCode":"UNREGISTERED"}, 7, null"#
    #expect(FCMAnswer(body: errorBody("X", details: [other, nameless])).errorCode == nil)
    let last = FCMAnswer(body: errorBody("X", code: "INTERNAL", details: [other, nameless]))
    #expect(last.errorCode == "INTERNAL" && last.isFCMs)
  }

  @Test func everyReasonIsOneOfFCMs() {
    let all: [RejectionReason] = [
      .unregistered, .senderIDMismatch, .invalidArgument, .quotaExceeded, .deviceQuotaExceeded,
      .unavailable, .internal, .thirdPartyAuthError, .unauthenticated, .permissionDenied, .notFound,
    ]
    #expect(Set(all) == Set(RejectionReason.all(of: .fcm)) && all.count == Set(all).count)
  }
}
