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
    help: "What the token is registered for: the app's bundle id, a push type's suffix with it")
  static let environment = Option(
    "environment", .choice(), default: EnvironmentChoice.production,
    help: "Which of Apple's services it is of; a build from Xcode has the sandbox's")
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
        environment: invocation[environment].model,
        tokenName: "--\(option.declaration.name)", topicName: "--app")
    }
  }

  /// What is refused is the command line's fault.
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
