import Deliver
import Model
import Preview
import PushSupport
import SingleRequests
import Terminal
import VerbSupport

/// `fanfare send --platform webpush`: one message to one browser, encrypted as a worker does, and
/// what its push service says of it, explained.
enum WebPushSend {
  static let subscription = Option<String?>(
    "subscription", .path, value: "FILE",
    help: "The JSON of a browser's PushSubscription; - is standard input")
  static let endpoint = Option<String?>(
    "endpoint", .text, value: "URL", help: "The endpoint of a browser's subscription")
  private static let p256dh = Option<String?>(
    "p256dh", .text, value: "KEY", help: "The public key of the subscription")
  private static let auth = Option<String?>(
    "auth", .text, value: "SECRET", help: "The secret of the subscription")
  private static let vapidKey = Option<String?>(
    "vapid-key", .text, value: "ID",
    help: "The VAPID key pair that the browser subscribed with; by default the current one")
  private static let urgency = Option<PushUrgency?>(
    "urgency", .choice(), help: "For browsers; by default the template's, or normal")
  /// No other platform has them.
  static let options: [any DeclaredOption] = [
    subscription, endpoint, p256dh, auth, vapidKey, urgency,
  ]

  static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    try refuseOthers(invocation)
    let settings = try invocation.loadSettings()
    let browsers = try CommandWebPush(settings)
    let binding = try browsers.binding(
      of: try subscription(invocation), topic: invocation[PushFlags.app] ?? "any",
      keyID: invocation[vapidKey])
    let now = invocation.nowMilliseconds
    let (message, headers) = try push(invocation, CommandApple(settings), binding, now: now)
    let single: CommandWebPush.Single?
    do {
      single = try browsers.files.seal(
        message, for: binding, headers, to: browsers.target, now: now)
    } catch {
      throw CommandFailure(.config, error.reason)
    }
    guard let single else { throw CommandFailure(.failed, "the message cannot be encrypted") }
    guard !invocation[RequestFlags.dryRun] else {
      SendVerb.show(
        single.request, to: single.target, plain: message,
        asJSON: invocation[RequestFlags.json], invocation)
      return .ok
    }
    let reply = await single.send(timeout: invocation[RequestFlags.timeout])
    let report = WebPushReport(reply, of: single.account, server: "\(single.target.endpoint)")
    RequestFlags.print(report.json, or: report.text, invocation)
    return report.exitCode
  }

  private static func refuseOthers(_ invocation: Invocation) throws(CommandFailure) {
    if let stray = PushFlags.ofApple.first(where: { invocation.isGiven($0) }) {
      throw CommandFailure(
        .usage, "--\(stray.declaration.name) is Apple's: it does not go with --platform webpush")
    }
    guard !invocation.isGiven(FCMSend.validateOnly) else {
      throw CommandFailure(
        .usage, "--validate-only goes with --platform fcm: push services have no such way")
    }
    guard !invocation.isGiven(PushFlags.token) else {
      throw CommandFailure(
        .usage, "a browser has no token: give --subscription, or --endpoint, --p256dh and --auth")
    }
  }

  private static func subscription(
    _ invocation: Invocation
  ) throws(CommandFailure) -> CommandWebPush.Subscription {
    let parts = [endpoint, p256dh, auth]
    if let path = invocation[subscription] {
      if let part = parts.first(where: { invocation.isGiven($0) }) {
        throw CommandFailure(
          .usage, "--subscription and --\(part.declaration.name) do not go together")
      }
      return try CommandWebPush.Subscription(
        json: try CommandFile.text(path, maximumBytes: 16 << 10))
    }
    guard let endpoint = invocation[endpoint], let p256dh = invocation[p256dh],
      let auth = invocation[auth]
    else {
      throw CommandFailure(
        .usage,
        "--platform webpush needs --subscription, or --endpoint, --p256dh and --auth")
    }
    return CommandWebPush.Subscription(endpoint: endpoint, p256dh: p256dh, auth: auth)
  }

  /// The message, and what its header fields are made of.
  /// - Parameter now: ms since 1970.
  private static func push(
    _ invocation: Invocation, _ apple: CommandApple, _ binding: Binding, now: Int64
  ) throws(CommandFailure) -> (String, PushHeaders) {
    let (message, rendered) =
      try PushFlags.isRendered(invocation, texts: PushFlags.ofMessage, of: "a message")
      ? try rendered(invocation, apple, now: now) : (try text(invocation), nil)
    let limit = CommandWebPush.maximumMessageBytes
    guard message.utf8.count <= limit else {
      throw CommandFailure(
        .usage, "the message has \(message.utf8.count) bytes, at most \(limit) fit")
    }
    let lifetime = invocation[PushFlags.expiresIn] ?? (rendered == nil ? .seconds(3_600) : nil)
    let end = lifetime.map { PushFlags.expiration(after: $0, now: now) }
    return (
      message,
      PushHeaders(
        pushType: .alert, priority: 10, topic: binding.topic,
        collapseID: invocation[PushFlags.collapseID] ?? rendered?.collapseID,
        expiration: end ?? rendered?.expiration ?? 0,
        // A part of a second that is left of this one must not shorten the TTL.
        expiresAt: end.map { ($0 - now / 1_000) * 1_000 + now } ?? rendered?.expiresAt ?? .max,
        urgency: invocation[urgency] ?? rendered?.urgency ?? .normal)
    )
  }

  /// The message that a worker would send.
  private static func rendered(
    _ invocation: Invocation, _ apple: CommandApple, now: Int64
  ) throws(CommandFailure) -> (String, PushHeaders?) {
    let preview = try TemplateFlags.rendered(
      invocation, apple, app: invocation[PushFlags.app], now: now)
    guard let message = preview.messages.first(where: { $0.platform == .webpush }) else {
      let problem = preview.oversized.first { $0.platform == .webpush }?.problem
      throw CommandFailure(
        .failed, problem ?? "the template has nothing for browsers: its push type is Apple's alone")
    }
    return (message.payload, preview.headers)
  }

  /// The message of a file, or of texts as a worker writes them.
  private static func text(_ invocation: Invocation) throws(CommandFailure) -> String {
    if let path = invocation[PushFlags.payload] {
      return try CommandFile.text(path, maximumBytes: 64 << 10)
    }
    guard let title = invocation[PushFlags.title] else {
      throw CommandFailure(
        .usage,
        invocation.isGiven(PushFlags.body)
          ? "a browser shows a title at least: give --title"
          : "nothing to say: give --title, --payload or --template")
    }
    var notification = Terminal.JSONObject()
    notification["title"] = .text(title)
    if let body = invocation[PushFlags.body] { notification["body"] = .text(body) }
    return JSONOutput.object(["notification": .object(notification)]).serialized()
  }
}
