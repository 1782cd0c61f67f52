import FCM
import JSON
import Terminal
import Testing

@testable import SingleRequests

/// A message to one Android device, and what its answer means.
@Suite struct FCMPushTests {
  private static let message = #"{"notification":{"title":"hi"},"android":{"priority":"HIGH"}}"#

  @Test func becomesTheRequestThatGoogleDocuments() {
    #expect(
      FCMPush(token: "a:b", message: Self.message).body
        == #"{"message":{"notification":{"title":"hi"},"android":{"priority":"HIGH"},"#
        + #""token":"a:b"}}"#
    )
    let push = FCMPush(
      token: "cDlQ0zZ8SZ-9Y_Q5aX3kLm", message: "{}", timeToLive: .milliseconds(1_500),
      isOnlyValidated: true)
    #expect(
      push.body
        == #"{"message":{"android":{"ttl":"2s"},"fid":"cDlQ0zZ8SZ-9Y_Q5aX3kLm"},"#
        + #""validateOnly":true}"#
    )
    let long = FCMPush(token: "a", message: Self.message, timeToLive: .seconds(30 * 86_400))
    #expect(long.body.contains(#""android":{"priority":"HIGH","ttl":"2419200s"}"#))
  }

  @Test(arguments: [
    ("", "{}", "visible ASCII"), ("a b", "{}", "visible ASCII"), ("a", "{", "no JSON"),
    ("a", "[]", "a JSON object, not an array"), ("a", #"{"topic":"x"}"#, "names its topic"),
    ("a", #"{"android":7}"#, "android is a JSON object"),
  ])
  func knowsWhatIsNoMessage(token: String, message: String, words: String) {
    let push = FCMPush(token: token, message: message, timeToLive: .seconds(1))
    #expect(push.flaw?.contains(words) == true, "\(push.flaw ?? "")")
    #expect(FCMPush(token: "a:b", message: Self.message).flaw == nil)
  }

  private static let account = FCMCredentials(
    project: FCMProject("p-1"),
    tokens: AccessTokenSource(
      .file(path: "/none"), monotonic: { 0 }, wallClock: { 0 }, randomNumber: { 0 },
      exchange: { _ in .failure("") }), wallClock: { 0 })

  private static func report(
    _ status: Int?, _ code: String? = nil, _ message: String = "", isOnlyValidated: Bool = true
  ) -> FCMReport {
    var reply = AppleReply()
    reply.status = status
    let details =
      code.map {
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#($0)"}"#
      } ?? ""
    reply.body = Array(
      (status == 200
        ? #"{"name":"projects/p-1/messages/1"}"#
        : #"{"error":{"status":"X","message":"\#(message)","details":[\#(details)]}}"#).utf8)
    if status == nil {
      reply.body = []
      reply.failure = "gave no answer within 10s"
    }
    return FCMReport(
      FCMPush(token: "a", message: "{}", isOnlyValidated: isOnlyValidated), reply, of: account,
      server: "project p-1, a:443")
  }

  @Test(
    arguments: [
      (200, nil, .ok, "would take the message; nothing was delivered"),
      (404, "UNREGISTERED", .failed, "the token is gone"),
      (400, "INVALID_ARGUMENT", .failed, "the message is wrong, or too large"),
      (403, "SENDER_ID_MISMATCH", .failed, "an app of another project"),
      (429, "QUOTA_EXCEEDED", .retryLater, "the project sends too much"),
      (503, "UNAVAILABLE", .unavailable, "FCM is not available"),
      (500, "INTERNAL", .unavailable, "FCM has a fault"),
      (401, "THIRD_PARTY_AUTH_ERROR", .config, "for Apple or for browsers"),
      (401, nil, .config, "the access token is refused"),
      (403, nil, .config, "the interface is off"), (404, nil, .config, "no such project"),
      (302, nil, .unavailable, "does not document"),
      (nil, nil, .unavailable, "gave no answer within 10s"),
    ] as [(Int?, String?, ExitCode, String)])
  func explainsAnAnswer(status: Int?, code: String?, exit: ExitCode, words: String) {
    let report = Self.report(status, code, "FCM's words")
    #expect(report.exitCode == exit)
    #expect(report.text.contains(words), "\(report.text)")
    #expect(report.text.contains("project p-1, a:443"))
    #expect(report.text.contains("FCM's words") == (status ?? 200 != 200))
  }

  @Test func aMessageThatWasSentHasAName() throws {
    let sent = Self.report(200, isOnlyValidated: false)
    #expect(sent.text.contains("does not mean that it was delivered"))
    let json = try JSONValue.parse(Array(sent.json.serialized().utf8)).object
    #expect(json?["name"]?.string == "projects/p-1/messages/1" && json?["status"]?.integer == 200)
    #expect(json?["validated_only"]?.bool == false && json?["worker"]?.string == "accepted")
  }

  @Test func aTokenThatIsNoneIsToldFromAMessageThatIsWrong() {
    let report = Self.report(
      400, "INVALID_ARGUMENT", "The registration token is not a valid FCM registration token")
    #expect(report.text.contains("the token is not valid"), "\(report.text)")
    #expect(report.text.contains("the token is set aside"))
  }
}
