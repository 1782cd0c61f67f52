import Model
import PushSupport
import Render
import SingleRequests
import Terminal
import Text
import VerbSupport

/// One push as flags.
enum PushFlags {
  static let environment = Option(
    "environment", .choice(), default: EnvironmentChoice.production,
    help: "The Apple environment; builds from Xcode use the sandbox")
  static let token = Option<String?>(
    "token", .text, value: "TOKEN",
    help: "The device's token, as the phone prints it: in hex, or FCM's")
  static let app = Option<String?>(
    "app", .text, value: "BUNDLE",
    help: "The app's bundle id; the push type adds a suffix to make the topic. For FCM it chooses "
      + "the project")
  static let title = Option<String?>("title", .text, help: "The alert's title")
  private static let subtitle = Option<String?>("subtitle", .text, help: "The alert's subtitle")
  static let body = Option<String?>("body", .text, help: "The alert's text")
  private static let badge = Option<Int?>(
    "badge", .integer(in: 0...1_000_000), help: "The number on the app's icon; 0 removes it")
  private static let sound = Option<String?>("sound", .text, help: "A sound, such as default")
  static let payload = Option<String?>(
    "payload", .path, value: "FILE",
    help: "A file with the whole payload, for FCM and browsers the message; - is standard input")
  private static let pushType = Option<PushType?>(
    "push-type", .choice(), help: "The push type; by default alert, or the template's")
  private static let priority = Option<Int?>(
    "priority", .integer(in: 1...10),
    help: "10, 5 or 1; by default the push type's, or the template's")
  static let collapseID = Option<String?>(
    "collapse-id", .text, value: "ID", help: "A later push with the same id replaces this one")
  static let expiresIn = Option<Duration?>(
    "expires-in", .duration(in: .zero ... .seconds(30 * 86_400)),
    help:
      "How long the push service tries to deliver; 0s means once. By default 1h, unless the push "
      + "type, or the template and the event, say otherwise")

  /// Of every platform's messages.
  static let ofMessage: [any DeclaredOption] = [title, body]
  /// No other platform has them.
  static let ofApple: [any DeclaredOption] = [
    environment, subtitle, badge, sound, pushType, priority,
  ]
  private static let ofAlert: [any DeclaredOption] = [title, subtitle, body, badge, sound]
  static let all: [any DeclaredOption] =
    [token, environment, app] + ofAlert + [payload] + TemplateFlags.all + [
      pushType, priority, collapseID, expiresIn,
    ]

  /// Whether a template makes the payload. Refuses more than one source of it.
  /// - Parameters:
  ///   - texts: the flags that it is made of otherwise.
  ///   - what: "an alert", for people.
  static func isRendered(
    _ invocation: Invocation, texts: [any DeclaredOption], of what: String
  ) throws(CommandFailure) -> Bool {
    let isOfTemplate = invocation.isGiven(TemplateFlags.template)
    let sources = [
      texts.contains { invocation.isGiven($0) }, invocation.isGiven(payload), isOfTemplate,
    ]
    guard sources.count(where: { $0 }) < 2 else {
      throw CommandFailure(.usage, "\(what)'s texts, --payload and --template do not go together")
    }
    try TemplateFlags.refuseWithoutTemplate(invocation)
    return isOfTemplate
  }

  /// - Parameter now: ms since 1970.
  static func push(
    _ invocation: Invocation, _ apple: CommandApple, now: Int64
  ) throws(CommandFailure) -> SinglePush {
    let given = try givenToken(invocation)
    let token: String
    do throws(DeviceTokenText.Refusal) {
      token = try DeviceTokenText.read(given)
    } catch {
      throw CommandFailure(.usage, "--token must be \(error.rule)\(error.hint)")
    }
    if let priority = invocation[priority], ![10, 5, 1].contains(priority) {
      throw CommandFailure(.usage, "--priority must be 10, 5 or 1")
    }
    let rendered =
      try isRendered(invocation, texts: ofAlert, of: "an alert")
      ? try TemplateFlags.rendered(invocation, apple, app: invocation[app], now: now) : nil
    let payload = if let rendered { rendered.payload } else { try text(invocation) }
    let push = SinglePush(
      token: token, headers: try headers(invocation, rendered?.headers, now: now),
      payload: payload)
    if let flaw = push.flaw { throw CommandFailure(.usage, "Apple would refuse it: \(flaw)") }
    return push
  }

  static func givenToken(_ invocation: Invocation) throws(CommandFailure) -> String {
    guard let token = invocation[token] else {
      throw CommandFailure(.usage, "--token is missing: --token <TOKEN>")
    }
    return token
  }

  private static func headers(
    _ invocation: Invocation, _ rendered: PushHeaders?, now: Int64
  ) throws(CommandFailure) -> PushHeaders {
    let type = invocation[pushType] ?? rendered?.pushType ?? .alert
    var topic = rendered?.topic ?? ""
    if let rendered { topic.removeLast(rendered.pushType.topicSuffix.count) }
    guard let app = rendered == nil ? invocation[app] : topic else {
      throw CommandFailure(.usage, "--app is needed: the bundle id of the app")
    }
    guard Binding.isTopic(app) else {
      throw CommandFailure(.usage, "--app must be a bundle id, such as com.example.live")
    }
    let usual: Duration = type.isUsuallyStored ? .seconds(3_600) : .zero
    let lifetime = invocation[expiresIn] ?? (rendered == nil ? usual : nil)
    let expiration = lifetime.map { Self.expiration(after: $0, now: now) }
    return PushHeaders(
      pushType: type,
      priority: invocation[priority] ?? rendered?.priority ?? type.usualPriority,
      topic: app + type.topicSuffix, collapseID: invocation[collapseID] ?? rendered?.collapseID,
      expiration: expiration ?? rendered?.expiration ?? 0, expiresAt: .max)
  }

  /// Apple counts in seconds: a part of one is a whole one, so that it is not over before it left.
  /// - Parameter now: in ms since 1970.
  static func expiration(after lifetime: Duration, now: Int64) -> Int64 {
    guard lifetime > .zero else { return 0 }
    let (seconds, part) = lifetime.components
    return now / 1_000 + seconds + (part > 0 ? 1 : 0)
  }

  /// The payload of a file, or of an alert's texts.
  private static func text(_ invocation: Invocation) throws(CommandFailure) -> String {
    if let path = invocation[payload] {
      return try CommandFile.text(path, maximumBytes: 64 << 10)
    }
    let type = invocation[pushType] ?? .alert
    var alert = JSONObject()
    for (name, option) in [("title", title), ("subtitle", subtitle), ("body", body)] {
      if let text = invocation[option] { alert[name] = .text(text) }
    }
    var aps = JSONObject()
    if !alert.members.isEmpty { aps["alert"] = .object(alert) }
    if let badge = invocation[badge] { aps["badge"] = .integer(badge) }
    if let sound = invocation[sound] { aps["sound"] = .text(sound) }
    if type == .background { aps["content-available"] = 1 }
    guard type == .alert || type == .background else {
      throw CommandFailure(.usage, "a \(type.rawValue) push needs --payload or --template")
    }
    guard !aps.members.isEmpty else {
      throw CommandFailure(.usage, "nothing to say: give --title, --payload or --template")
    }
    return JSONOutput.object(["aps": .object(aps)]).serialized()
  }
}
