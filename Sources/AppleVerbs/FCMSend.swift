import Assembly
import Deliver
import Model
import PushSupport
import SingleRequests
import Terminal
import VerbSupport

/// `fanfare send --platform fcm`: one message to one Android device, and what FCM says of it,
/// explained.
enum FCMSend {
  enum PlatformChoice: String, CaseIterable, Sendable {
    case apns, fcm, webpush
  }

  static let platform = Option(
    "platform", .choice(), default: PlatformChoice.apns,
    help: "The push service: apns for Apple, fcm for Android, webpush for browsers")
  static let validateOnly = Option(
    flag: "validate-only", help: "Let FCM check the message and deliver nothing")
  static let options: [any DeclaredOption] = [platform, validateOnly]

  static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let ofApple = PushFlags.ofApple + [PushFlags.collapseID]
    if let stray = ofApple.first(where: { invocation.isGiven($0) }) {
      throw CommandFailure(
        .usage, "--\(stray.declaration.name) is Apple's: it does not go with --platform fcm")
    }
    let settings = try invocation.loadSettings()
    let push = try push(invocation, CommandApple(settings), now: invocation.nowMilliseconds)
    let fcm = try CommandFCM(settings, app: invocation[PushFlags.app])
    guard !invocation[RequestFlags.dryRun] else {
      SendVerb.show(
        fcm.files.request(push.body), to: fcm.target, asJSON: invocation[RequestFlags.json],
        invocation)
      return .ok
    }
    let reply: AppleReply
    do {
      reply = try await fcm.files.send(
        push.body, to: fcm.target, timeout: invocation[RequestFlags.timeout])
    } catch {
      throw CommandFailure(.config, "\(fcm.files.sourceName): \(error.reason)")
    }
    let report = FCMReport(
      push, reply, of: fcm.files.account,
      server: "\(fcm.files.projectName), \(fcm.target.endpoint)")
    RequestFlags.print(report.json, or: report.text, invocation)
    return report.exitCode
  }

  /// - Parameter now: ms since 1970.
  static func push(
    _ invocation: Invocation, _ apple: CommandApple, now: Int64
  ) throws(CommandFailure) -> FCMPush {
    let (message, usual) =
      try PushFlags.isRendered(invocation, texts: PushFlags.ofMessage, of: "a message")
      ? try rendered(invocation, apple, now: now) : (try text(invocation), nil)
    let push = FCMPush(
      token: try PushFlags.givenToken(invocation), message: message,
      timeToLive: invocation[PushFlags.expiresIn] ?? usual,
      isOnlyValidated: invocation[validateOnly])
    if let flaw = push.flaw { throw CommandFailure(.usage, flaw) }
    return push
  }

  /// The message that a worker would send, and how long FCM would keep it.
  private static func rendered(
    _ invocation: Invocation, _ apple: CommandApple, now: Int64
  ) throws(CommandFailure) -> (String, Duration?) {
    let preview = try TemplateFlags.rendered(
      invocation, apple, app: invocation[PushFlags.app], now: now)
    guard let message = preview.messages.first(where: { $0.platform == .fcm }) else {
      throw CommandFailure(
        .failed, "the template has nothing for Android: its push type is Apple's alone")
    }
    return (message.payload, .seconds(max(0, preview.headers.expiration - now / 1_000)))
  }

  /// The message of a file, or of texts.
  private static func text(_ invocation: Invocation) throws(CommandFailure) -> String {
    if let path = invocation[PushFlags.payload] {
      return try CommandFile.text(path, maximumBytes: 64 << 10)
    }
    var notification = Terminal.JSONObject()
    if let title = invocation[PushFlags.title] { notification["title"] = .text(title) }
    if let body = invocation[PushFlags.body] { notification["body"] = .text(body) }
    guard !notification.members.isEmpty else {
      guard invocation[validateOnly] else {
        throw CommandFailure(.usage, "nothing to say: give --title, --payload or --template")
      }
      return #"{"data":{"check":"1"}}"#
    }
    return JSONOutput.object(["notification": .object(notification)]).serialized()
  }
}
