import Devices
import Model
import PushSupport
import Terminal
import VerbSupport

/// A user and a device, as verbs take them.
enum DeviceFlags {
  static let user = Argument(required: "user", .text, help: "The user's id")
  static let token = Option(
    required: "token", .text, value: "TOKEN", help: "The device's token, as the phone prints it")
  static let app = Option(
    required: "app", .text, value: "TOPIC",
    help: "The token's topic: the app's bundle id, with the push type's suffix if it has one")
  static let platform = Option(
    "platform", .choice(), default: PlatformChoice.apns,
    help: "The push service that gave the token")
  static let environment = Option(
    "environment", .choice(), default: EnvironmentChoice.production,
    help: "The Apple environment; builds from Xcode use the sandbox")
  static let codes: [ExitCode] = [.ok, .failed, .unavailable, .retryLater, .config]

  static func user(_ invocation: Invocation) throws(CommandFailure) -> String {
    try checked { () throws(GivenRefusal) in try Given.user(invocation[user]) }
  }

  /// The device that `--app` and `--environment` name.
  static func binding(
    _ invocation: Invocation, token option: Option<String> = token
  ) throws(CommandFailure) -> Binding {
    try checked { () throws(GivenRefusal) in
      try Given.binding(
        token: invocation[option], topic: invocation[app],
        environment: invocation[platform] == .apns
          ? invocation[environment].model : invocation[platform].first,
        tokenName: "--\(option.declaration.name)", topicName: "--app")
    }
  }

  /// Turns the refusal of a value into a usage error.
  static func checked<T>(
    _ body: () throws(GivenRefusal) -> T
  ) throws(CommandFailure) -> T {
    do throws(GivenRefusal) {
      return try body()
    } catch {
      throw CommandFailure(.usage, "\(error.name) must be \(error.rule)\(error.hint)")
    }
  }
}

/// A push service, as a flag names it.
enum PlatformChoice: String, CaseIterable, Sendable {
  case apns, fcm

  var model: Platform { self == .apns ? .apns : .fcm }
  var first: Destination { Destination.all(of: model)[0] }
}
