import Assembly
import Devices
import Model
import PushSupport
import Subscriptions
import Terminal
import VerbSupport

/// A user and a device, as verbs take them.
enum DeviceFlags {
  static let user = Argument(required: "user", .text, help: "The user's id")
  static let token = Option(
    required: "token", .text, value: "TOKEN",
    help: "The device's token, as the phone prints it; of a browser the subscription's endpoint")
  static let app = Option(
    required: "app", .text, value: "TOPIC",
    help: "The token's topic: the app's bundle id, with the push type's suffix if it has one")
  static let platform = Option(
    "platform", .choice(), default: PlatformChoice.apns,
    help: "The push service that gave the token")
  static let environment = Option(
    "environment", .choice(), default: EnvironmentChoice.production,
    help: "The Apple environment; builds from Xcode use the sandbox")
  static let p256dh = Option<String?>(
    "p256dh", .text, value: "KEY", help: "The public key of a browser's subscription")
  static let auth = Option<String?>(
    "auth", .text, value: "SECRET", help: "The secret of a browser's subscription")
  static let vapidKey = Option<String?>(
    "vapid-key", .text, value: "ID",
    help: "The VAPID key pair that the browser subscribed with; by default the current one")
  static let codes: [ExitCode] = [.ok, .failed, .unavailable, .retryLater, .config]

  static func user(_ invocation: Invocation) throws(CommandFailure) -> String {
    try checked { () throws(GivenRefusal) in try Given.user(invocation[user]) }
  }

  /// The device that the flags name.
  static func binding(
    _ invocation: Invocation, token option: Option<String> = token
  ) throws(CommandFailure) -> Binding {
    guard invocation[platform] != .webpush else { return try subscription(invocation, option) }
    return try checked { () throws(GivenRefusal) in
      try Given.binding(
        token: invocation[option], topic: invocation[app],
        environment: invocation[platform] == .apns
          ? invocation[environment].model : invocation[platform].first,
        tokenName: "--\(option.declaration.name)", topicName: "--app")
    }
  }

  private static func subscription(
    _ invocation: Invocation, _ endpoint: Option<String>
  ) throws(CommandFailure) -> Binding {
    guard let p256dh = invocation[p256dh], let auth = invocation[auth] else {
      throw CommandFailure(
        .usage, "--platform webpush needs --p256dh and --auth, the keys of the subscription")
    }
    let rules = Assembly.subscriptionRules(try invocation.loadSettings())
    do throws(BrowserSubscription.Problem) {
      return try BrowserSubscription(
        topic: invocation[app], endpoint: invocation[endpoint], p256dh: p256dh, auth: auth,
        keyID: invocation[vapidKey], rules: rules
      ).binding
    } catch {
      throw CommandFailure(.usage, "\(error)")
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
  case apns, fcm, webpush

  var model: Platform {
    switch self {
    case .apns: .apns
    case .fcm: .fcm
    case .webpush: .webpush
    }
  }
  var first: Destination { Destination.all(of: model)[0] }
}
