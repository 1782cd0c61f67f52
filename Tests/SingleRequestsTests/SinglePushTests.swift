import Deliver
import Model
import SingleRequests
import Terminal
import Testing
import Transport

@Suite struct SinglePushTests {
  private static func push(
    _ payload: String = #"{"aps":{"alert":"hi"}}"#, type: PushType = .alert, priority: Int = 10,
    collapseID: String? = nil
  ) -> SinglePush {
    SinglePush(
      token: "aabb",
      headers: PushHeaders(
        pushType: type, priority: priority, topic: "com.example.live" + type.topicSuffix,
        collapseID: collapseID, expiration: 0, expiresAt: .max), payload: payload)
  }

  @Test func becomesTheRequestThatAppleDocuments() {
    let request = Self.push(type: .voip, collapseID: "c").request
    #expect(request.method == "POST" && request.path == "/3/device/aabb")
    #expect(
      request.fields.map { "\($0.name): \($0.value)" } == [
        "apns-topic: com.example.live.voip", "apns-push-type: voip", "apns-priority: 10",
        "apns-expiration: 0", "apns-collapse-id: c",
      ])
  }

  @Test func knowsWhatAppleWouldRefuse() {
    #expect(Self.push().flaw == nil)
    #expect(Self.push(type: .background, priority: 5).flaw == nil)
    #expect(Self.push(type: .background).flaw?.contains("priority 5") == true)
    #expect(Self.push("[]").flaw?.contains("a JSON object, not an array") == true)
    #expect(Self.push("{}").flaw?.contains("no aps") == true)
    #expect(Self.push("{}", type: .mdm).flaw == nil)
    #expect(Self.push(collapseID: String(repeating: "x", count: 65)).flaw != nil)
    #expect(Self.push(collapseID: "a\r\nb").flaw?.contains("control") == true)
    let frame = #"{"aps":{"alert":""}}"#.utf8.count
    let full = { #"{"aps":{"alert":""# + String(repeating: "x", count: $0 - frame) + #""}}"# }
    #expect(Self.push(full(4_096)).flaw == nil)
    #expect(Self.push(full(4_097)).flaw?.contains("4097 bytes") == true)
    #expect(Self.push(full(5_120), type: .voip).flaw == nil)
  }

  private static func report(
    _ status: Int?, _ reason: String? = nil, timestamp: Int64 = 0
  ) -> PushReport {
    var reply = AppleReply()
    reply.status = status
    let time = timestamp > 0 ? #","timestamp":\#(timestamp)"# : ""
    if let reason { reply.body = Array(#"{"reason":"\#(reason)"\#(time)}"#.utf8) }
    if status == nil { reply.failure = "gave no answer within 10s" }
    return PushReport(push(), reply, server: "production, a:443")
  }

  @Test(
    arguments: [
      (200, nil, .ok), (400, "BadDeviceToken", .failed), (400, "BadTopic", .failed),
      (410, "Unregistered", .failed), (413, "PayloadTooLarge", .failed),
      (403, "Forbidden", .failed),
      (403, "InvalidProviderToken", .config), (403, "ExpiredProviderToken", .config),
      (429, "TooManyRequests", .retryLater), (429, "TooManyProviderTokenUpdates", .retryLater),
      (500, "InternalServerError", .unavailable), (503, "Shutdown", .unavailable),
      (nil, nil, .unavailable), (400, "SomethingNew", .failed), (403, nil, .config),
      (400, "Bad Request", .unavailable), (401, "Unauthorized", .unavailable),
    ] as [(Int?, String?, ExitCode)])
  func endsAsTheAnswerSays(_ status: Int?, _ reason: String?, _ code: ExitCode) {
    #expect(Self.report(status, reason).exitCode == code)
  }

  @Test func saysSinceWhenATokenIsGone() {
    let gone = Self.report(410, "Unregistered", timestamp: 1_767_225_600_000)
    #expect(gone.text.contains("2026-01-01T00:00:00.000Z"), "\(gone.text)")
    #expect(gone.json.serialized().contains(#""timestamp":1767225600000"#))
  }

  @Test func saysReasonMeaningAndWhatToDo() {
    let text = Self.report(400, "BadDeviceToken").text
    #expect(text.contains("400 BadDeviceToken") && text.contains("from Xcode"))
    #expect(text.contains("the token is set aside"))
    #expect(Self.report(418, "Teapot").text.contains("418 Teapot"))
    #expect(Self.report(nil).text.contains("gave no answer within 10s"))
  }
}
