import SingleRequests
import Terminal
import Testing

@Suite struct ChannelReportTests {
  private static func report(
    _ status: Int?, body: String = "", fields: [AppleRequest.Field] = [],
    of request: AppleRequest = ChannelRequests.show(app: "a.b", channel: "c==")
  ) -> ChannelReport {
    var reply = AppleReply()
    reply.status = status
    reply.body = Array(body.utf8)
    reply.fields = fields
    if status == nil { reply.failure = "gave no answer within 10s" }
    return ChannelReport(reply, of: request, server: "production, a:2196")
  }

  /// As a push's: the request's fault, the credentials', Apple's, or a wait.
  @Test(arguments: BroadcastWords.all)
  func endsAndExplainsAsTheAnswerSays(_ words: BroadcastWords) {
    let report = Self.report(words.status, body: #"{"reason":"\#(words.reason)"}"#)
    let code: ExitCode =
      switch words.status {
      case 400, 404, 405, 413: .failed
      case 403: .config
      case 429: .retryLater
      default: .unavailable
      }
    #expect(report.exitCode == code)
    #expect(report.text.contains("\(words.status) \(words.reason)"))
    #expect(report.text.contains(words.meaning) && report.text.contains(words.advice))
    let json = report.json.serialized()
    #expect(json.contains(words.meaning) && json.contains(words.reason))
  }

  @Test func saysWhatThereIsWithoutAReason() {
    #expect(Self.report(418).text.contains("418 without a reason"))
    #expect(Self.report(418).exitCode == .failed)
    #expect(Self.report(nil).text.contains("gave no answer within 10s"))
    #expect(Self.report(nil).exitCode == .unavailable)
  }

  @Test(arguments: [200, 201, 204])
  func anAcceptanceEndsWell(_ status: Int) {
    #expect(Self.report(status).exitCode == .ok)
    #expect(!Self.report(status).text.contains("without a reason"))
  }

  @Test func aListIsItsChannelsAlone() {
    let body = #"{"channels":["a==","b=="]}"#
    #expect(Self.report(200, body: body).text == "a==\nb==\n")
    #expect(Self.report(200, body: body).json.serialized().contains(#"["a==","b=="]"#))
    #expect(
      Self.report(200, body: #"{"channels":["a\u001b[1m"]}"#).text.contains("\u{1b}") == false)
  }

  /// A script reads ids from it: nothing else may stand there with an exit code of 0.
  @Test(arguments: [#"{"channels":["a==","#, "", "{}", #"{"channels":{}}"#])
  func aListThatCannotBeReadIsNone(body: String) {
    let report = Self.report(200, body: body, of: ChannelRequests.list(app: "a.b"))
    #expect(report.exitCode == .unavailable && report.text.contains("cannot be read"))
    let empty = Self.report(200, body: #"{"channels":[]}"#, of: ChannelRequests.list(app: "a.b"))
    #expect(empty.exitCode == .ok && empty.text.isEmpty)
  }

  @Test(arguments: [(0, "none"), (1, "last")])
  func aChannelIsShownWithWhatItStores(_ policy: Int, _ words: String) {
    let report = Self.report(
      200, body: #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#,
      fields: [.init("apns-channel-id", "c=="), .init("apns-request-id", "r")])
    for text in [words, "c==", "r", "production, a:2196"] { #expect(report.text.contains(text)) }
    let json = report.json.serialized()
    #expect(json.contains(#""storage":"\#(words)""#) && json.contains(#""channel":"c==""#))
  }

  @Test func knowsTheBroadcastThatAppleWouldRefuse() {
    let frame = #"{"aps":""}"#.utf8.count
    let sized = { #"{"aps":""# + String(repeating: "x", count: $0 - frame) + #""}"# }
    #expect(ChannelRequests.flaw(ofPayload: sized(5_120)) == nil)
    #expect(ChannelRequests.flaw(ofPayload: sized(5_121))?.contains("5121 bytes") == true)
    #expect(ChannelRequests.flaw(ofPayload: "[]")?.contains("a JSON object, not an array") == true)
    #expect(ChannelRequests.flaw(ofPayload: "{}")?.contains("no aps") == true)
  }
}
