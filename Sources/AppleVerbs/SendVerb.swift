import Deliver
import Preview
import PushSupport
import Render
import SingleRequests
import Terminal
import VerbSupport

/// One push to one device, and what its push service says of it, explained.
package enum SendVerb {
  package static let verb = Verb(
    "send", summary: "Send one push to one device, and explain the answer",
    discussion: """
      Sends a real push, with the configured credentials, on its own connection. The command uses \
      neither Kafka nor Redis. It explains what the answer of the push service means, what to do \
      about it, and what a worker would do. It never removes a token or sets it aside.

      The exit code is 0 if the push was accepted, 1 if the push itself was refused, 78 if the \
      credentials were refused, 75 if the service asks you to wait, and 69 if it cannot be \
      reached or has a fault.
      """,
    options: FCMSend.options + PushFlags.all + WebPushSend.options + RequestFlags.all
      + ConfigurationOptions.all,
    examples: [
      .init(
        "fanfare send --token '<a1b2c3d4 e5f60718>' --app com.example.live --title 'Is it on?'",
        "Send an alert to one phone"),
      .init(
        "fanfare send --token a1b2c3d4e5f60718 --app com.example.live --template go-live "
          + "--locale ja", "Send what a follower would get, with a sample event"),
      .init(
        "fanfare send --token a1b2c3d4e5f60718 --app com.example.live --environment sandbox "
          + "--payload push.json --dry-run", "Show the request without sending it"),
      .init(
        "fanfare send --platform fcm --token 'dXJv…:APA91b…' --validate-only",
        "Let FCM check a token and the credentials, and deliver nothing"),
      .init(
        "fanfare send --platform webpush --subscription subscription.json --title 'Is it on?'",
        "Send a message to one browser"),
    ], exitCodes: [.ok, .failed, .unavailable, .retryLater, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    if invocation[FCMSend.platform] == .webpush { return try await WebPushSend.run(invocation) }
    if let stray = WebPushSend.options.first(where: { invocation.isGiven($0) }) {
      throw CommandFailure(
        .usage, "--\(stray.declaration.name) goes with --platform webpush")
    }
    if invocation[FCMSend.platform] == .fcm { return try await FCMSend.run(invocation) }
    guard !invocation.isGiven(FCMSend.validateOnly) else {
      throw CommandFailure(
        .usage, "--validate-only goes with --platform fcm: Apple has no such way")
    }
    let apple = CommandApple(try invocation.loadSettings())
    let push = try PushFlags.push(invocation, apple, now: invocation.nowMilliseconds)
    if invocation.isGiven(PushFlags.payload) {
      for complaint in PayloadRules.complaints(about: push.payload, of: push.headers) {
        invocation.errors.line("warning: \(TextLayout.printable(complaint))")
      }
    }
    let environment = invocation[PushFlags.environment].model
    let route = try apple.route(environment)
    guard !invocation[RequestFlags.dryRun] else {
      show(push.request, to: route, asJSON: invocation[RequestFlags.json], invocation)
      return .ok
    }
    let authorized = try apple.authorizing(
      route, of: push.headers.topic, now: invocation.nowMilliseconds)
    if push.headers.pushType == .location, authorized.authorization == nil {
      throw CommandFailure(
        .config, "Apple takes location pushes with a key only: set apns.key_file for this app")
    }
    let reply = await SingleRequest.ask(
      push.request, on: authorized.route, authorization: authorized.authorization,
      timeout: invocation[RequestFlags.timeout])
    let report = PushReport(push, reply, server: "\(environment.name), \(route.endpoint)")
    RequestFlags.print(report.json, or: report.text, invocation)
    return report.exitCode
  }

  /// The request as it would go out.
  /// - Parameter plain: what an encrypted body says.
  static func show(
    _ request: AppleRequest, to route: RouteTarget, plain: String? = nil, asJSON: Bool,
    _ invocation: Invocation
  ) {
    let endpoint = route.endpoint
    if asJSON {
      invocation.output.line(RequestText.json(request, to: endpoint, plain: plain).serialized())
    } else {
      invocation.output.write(RequestText.text(request, to: endpoint, plain: plain))
    }
  }
}

/// The flags of every verb that sends one request to Apple.
enum RequestFlags {
  static let all: [any DeclaredOption] = [dryRun, timeout, json]

  static let dryRun = Option(
    flag: "dry-run", help: "Show the request without the credentials, and send nothing")
  static let timeout = Option(
    "timeout", .duration(in: .milliseconds(100) ... .seconds(300)), default: .seconds(10),
    help: "The time limit for the answer")
  static let json = Option(flag: "json", help: "Print one JSON object")

  /// Prints the object with `--json`, the text without.
  static func print(
    _ object: @autoclosure () -> JSONOutput, or text: @autoclosure () -> String,
    _ invocation: Invocation
  ) {
    if invocation[json] {
      invocation.output.line(object().serialized())
    } else {
      invocation.output.write(text())
    }
  }
}
