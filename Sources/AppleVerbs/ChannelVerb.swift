import Model
import PushSupport
import Render
import SingleRequests
import Terminal
import VerbSupport

/// Broadcast channels, for a stream's Live Activity: one request of ours reaches whoever follows
/// the channel.
package enum ChannelVerb {
  private static let app = Option<String?>(
    "app", .text, value: "BUNDLE", help: "The bundle id of the channels' app, without a suffix")
  private static let channel = Option(
    required: "channel", .text, value: "ID", help: "The channel's id, as create and list print it")
  private static let storage = Option(
    "storage", .choice(), default: ChannelRequests.Storage.none,
    help: "What Apple stores for devices that are offline: nothing, or the last message; it cannot "
      + "be changed later")
  private static let expiresIn = Option(
    "expires-in", .duration(in: .zero ... .seconds(30 * 86_400)), default: .zero,
    help: "How long Apple keeps the message; 0 for a channel that stores nothing")
  private static let priority = Option<Int?>(
    "priority", .integer(in: 1...10), help: "10, 5 or 1; by default 10, or the template's")
  private static let codes: [ExitCode] = [.ok, .failed, .unavailable, .retryLater, .config]

  package static let verb = Verb(
    group: "channel", summary: "Manage broadcast channels for Live Activities, and send to them",
    discussion: """
      One broadcast updates every Live Activity that was started with a channel's id, however many \
      devices follow it (iOS 18 and later). An app has at most 10,000 channels in each \
      environment. The settings apns.<environment>.channels_host and broadcast_host name the \
      hosts.

      The exit codes are those of send: 1 if Apple refused the request itself, 78 if it refused \
      the credentials, 75 if it asks you to wait, 69 if it cannot be reached or has a fault.
      """,
    options: [app, PushFlags.environment] + RequestFlags.all + ConfigurationOptions.all,
    verbs: [create, list, show, delete, send],
    examples: [
      .init(
        "fanfare channel create --app com.example.live --storage last",
        "Create a channel for a stream"),
      .init(
        "fanfare channel send --app com.example.live --channel dHN0LXNyY2gtY2hubA== "
          + "--payload update.json", "Update everybody who follows the channel"),
    ])

  private static let create = Verb(
    "create", summary: "Create a channel, and print its id", discussion: "", options: [storage],
    examples: [
      .init(
        "fanfare channel create --app com.example.live --storage last",
        "Create a channel that stores the last message")
    ],
    exitCodes: codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    try await manage(invocation) { ChannelRequests.create(app: $0, invocation[storage]) }
  }

  private static let list = Verb(
    "list", summary: "Print the ids of an app's channels", discussion: "", options: [],
    examples: [.init("fanfare channel list --app com.example.live", "Print one id on each line")],
    exitCodes: codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    try await manage(invocation) { ChannelRequests.list(app: $0) }
  }

  private static let show = Verb(
    "show", summary: "Show whether a channel stores messages", discussion: "", options: [channel],
    examples: [
      .init(
        "fanfare channel show --app com.example.live --channel dHN0LXNyY2gtY2hubA==",
        "Show the channel")
    ], exitCodes: codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let id = try identifier(invocation)
    return try await manage(invocation) { ChannelRequests.show(app: $0, channel: id) }
  }

  private static let delete = Verb(
    "delete", summary: "Delete a channel", discussion: "", options: [channel],
    examples: [
      .init(
        "fanfare channel delete --app com.example.live --channel dHN0LXNyY2gtY2hubA==",
        "Delete the channel")
    ], exitCodes: codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let id = try identifier(invocation)
    return try await manage(invocation) { ChannelRequests.delete(app: $0, channel: id) }
  }

  private static let send = Verb(
    "send", summary: "Send a Live Activity update to everybody who follows a channel",
    discussion: "The payload comes from a file, or from a template of push type liveactivity.",
    options: [channel, PushFlags.payload] + TemplateFlags.all + [priority, expiresIn],
    examples: [
      .init(
        "fanfare channel send --app com.example.live --channel dHN0LXNyY2gtY2hubA== "
          + "--payload update.json", "Send the payload in a file")
    ], exitCodes: codes, handler: broadcast)

  // MARK: what they do

  private static func bundle(_ invocation: Invocation) throws(CommandFailure) -> String {
    guard let app = invocation[app], Binding.isTopic(app) else {
      throw CommandFailure(.usage, "--app must be a bundle id, such as com.example.live")
    }
    return app
  }

  /// Reads the argument as an identifier that may stand in a header.
  private static func identifier(_ invocation: Invocation) throws(CommandFailure) -> String {
    let id = invocation[channel]
    guard !id.isEmpty, id.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw CommandFailure(.usage, "--channel must be a channel's id, as create and list print it")
    }
    return id
  }

  private static func manage(
    _ invocation: Invocation, _ request: (_ app: String) -> AppleRequest
  ) async throws(CommandFailure) -> ExitCode {
    let app = try bundle(invocation)
    return try await ask(
      request(app), of: app, invocation, CommandApple(try invocation.loadSettings()), .channels)
  }

  private static func broadcast(
    _ invocation: Invocation
  ) async throws(CommandFailure) -> ExitCode {
    let id = try identifier(invocation)
    let apple = CommandApple(try invocation.loadSettings())
    let now = invocation.nowMilliseconds
    try TemplateFlags.refuseWithoutTemplate(invocation)
    let content = try content(invocation, apple, now: now)
    let priority = invocation[priority] ?? content.priority
    guard [10, 5, 1].contains(priority) else {
      throw CommandFailure(.usage, "--priority must be 10, 5 or 1")
    }
    let request = ChannelRequests.send(
      app: content.app, channel: id, payload: content.payload, priority: priority,
      expiration: PushFlags.expiration(after: invocation[expiresIn], now: now))
    if let flaw = ChannelRequests.flaw(ofPayload: content.payload) {
      throw CommandFailure(.usage, "Apple would refuse it: \(flaw)")
    }
    return try await ask(request, of: content.app, invocation, apple, .broadcasts)
  }

  private static func content(
    _ invocation: Invocation, _ apple: CommandApple, now: Int64
  ) throws(CommandFailure) -> (app: String, payload: String, priority: Int) {
    switch (invocation[PushFlags.payload], invocation[TemplateFlags.template]) {
    case (let path?, nil):
      let text = try CommandFile.text(path, maximumBytes: 64 << 10)
      return (try bundle(invocation), text, PushType.liveactivity.usualPriority)
    case (nil, .some):
      let rendered = try TemplateFlags.rendered(invocation, apple, app: invocation[app], now: now)
      guard rendered.headers.pushType == .liveactivity else {
        throw CommandFailure(
          .usage,
          "the template is for \(rendered.headers.pushType.rawValue) pushes: "
            + "broadcasts are for liveactivity alone")
      }
      let app = rendered.headers.topic.dropLast(PushType.liveactivity.topicSuffix.count)
      return (String(app), rendered.payload, rendered.headers.priority)
    default: throw CommandFailure(.usage, "either --payload or --template is needed")
    }
  }

  private static func ask(
    _ request: AppleRequest, of app: String, _ invocation: Invocation, _ apple: CommandApple,
    _ service: CommandApple.Service
  ) async throws(CommandFailure) -> ExitCode {
    let environment = invocation[PushFlags.environment].model
    let route = try apple.route(environment, service)
    guard !invocation[RequestFlags.dryRun] else {
      SendVerb.show(request, to: route, asJSON: invocation[RequestFlags.json], invocation)
      return .ok
    }
    let authorized = try apple.authorizing(route, of: app, now: invocation.nowMilliseconds)
    let reply = await SingleRequest.ask(
      request, on: authorized.route, authorization: authorized.authorization,
      timeout: invocation[RequestFlags.timeout])
    let report = ChannelReport(reply, of: request, server: "\(environment.name), \(route.endpoint)")
    RequestFlags.print(report.json, or: report.text, invocation)
    return report.exitCode
  }
}
