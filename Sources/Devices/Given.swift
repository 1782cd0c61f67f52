import Keyspace
import Model
import Subscriptions
import Text

/// Values as somebody gives them, on a command line or in a request. Checked before anything is
/// sent to Redis.
package enum Given {
  @discardableResult
  package static func user(
    _ text: String, as name: String = "user"
  ) throws(GivenRefusal) -> String {
    guard Keyspace.isIdentifier(text) else {
      throw GivenRefusal(name: name, rule: identifierRule)
    }
    return text
  }

  @discardableResult
  package static func streamer(
    _ text: String, as name: String = "streamer"
  ) throws(GivenRefusal) -> String {
    guard Keyspace.isStreamerIdentifier(text) else {
      throw GivenRefusal(
        name: name, rule: identifierRule + ", and must not end in :<digits>:<digits>")
    }
    return text
  }

  @discardableResult
  package static func tag(_ text: String, as name: String = "tag") throws(GivenRefusal) -> String {
    guard Keyspace.isTag(text) else { throw GivenRefusal(name: name, rule: Keyspace.tagRule) }
    return text
  }

  /// Apple's as phones print it, in lower-case hex; others' as they are.
  package static func token(
    _ text: String, of platform: Platform = .apns, as name: String = "token"
  ) throws(GivenRefusal) -> String {
    guard platform != .webpush || PushEndpoint.isWritten(text) else {
      throw GivenRefusal(name: name, rule: "the https: URL of a subscription")
    }
    guard platform == .apns else {
      guard let token = platform.tokens.stored(text) else {
        throw GivenRefusal(
          name: name,
          rule: "1…\(platform.tokens.maximumBytes) bytes of visible ASCII without braces")
      }
      return token
    }
    do throws(DeviceTokenText.Refusal) {
      return try DeviceTokenText.read(text)
    } catch {
      throw GivenRefusal(name: name, rule: error.rule, hint: error.hint)
    }
  }

  /// Returns the topic that a token is registered for: the bundle id, and a push type's suffix.
  @discardableResult
  package static func topic(
    _ text: String, as name: String = "topic"
  ) throws(GivenRefusal) -> String {
    guard Binding.isTopic(text) else {
      throw GivenRefusal(
        name: name,
        rule: "a bundle id and perhaps a suffix: letters, digits, '.' and '-'")
    }
    return text
  }

  package static func environment(
    _ text: String, as name: String = "environment"
  ) throws(GivenRefusal) -> Destination {
    guard let known = Destination(named: text), known.platform == .apns else {
      throw GivenRefusal(name: name, rule: "production or sandbox")
    }
    return known
  }

  /// When a device was bound. The future counts as now.
  /// - Parameters:
  ///   - time: ms since 1970, as it was given.
  ///   - now: ms since 1970.
  package static func boundAt(
    _ time: Int64, as name: String, now: Int64
  ) throws(GivenRefusal) -> Int64 {
    guard (BindingTime.earliest...BindingTime.latest).contains(time) else {
      let rule = "milliseconds since 1970, of a time since push exists"
      // A number of seconds is the usual mistake.
      let (meant, isTooLarge) = time.multipliedReportingOverflow(by: 1000)
      let isInSeconds = !isTooLarge && BindingTime.isPossible(meant, now: now)
      throw GivenRefusal(
        name: name,
        rule: "\(rule): \(time) ms is \(CivilTime(milliseconds: time).dateText)"
          + (isInSeconds ? ": give milliseconds" : ""))
    }
    return min(time, now)
  }

  /// A device, of its token as phones print it.
  /// - Parameters:
  ///   - tokenName: what the token is called where it was given.
  ///   - topicName: what the topic is called there.
  package static func binding(
    token: String, topic: String, environment: Destination, tokenName: String = "token",
    topicName: String = "topic"
  ) throws(GivenRefusal) -> Binding {
    let token = try Self.token(token, of: environment.platform, as: tokenName)
    let binding = Binding(
      destination: environment, topic: try Self.topic(topic, as: topicName), token: token)
    guard let binding else { throw GivenRefusal(name: tokenName, rule: "a device token") }
    return binding
  }

  static let identifierRule =
    "1…\(Keyspace.maximumIdentifierBytes) bytes of UTF-8 without control characters and braces"
}

extension DevicesError {
  /// For callers that know of no other error; without the hint.
  package init(_ refusal: GivenRefusal) {
    self.init(.invalid, "\(refusal.name) must be \(refusal.rule)")
  }
}

/// A value that somebody gave and that is not taken: which, and what it must be. Never with the
/// value in it: it may be a token, and what is refused is told, and may be logged.
package struct GivenRefusal: Error, Equatable {
  package let name: String
  package let rule: String
  private let makeHint: @Sendable () -> String
  /// Behind the rule, for whoever gave the value: what was meant, perhaps. A token's holds the
  /// token, and is neither kept nor logged. Each call may compare the value with some 600 names.
  package var hint: String { makeHint() }

  package init(
    name: String, rule: String, hint: @autoclosure @escaping @Sendable () -> String = ""
  ) {
    self.name = name
    self.rule = rule
    makeHint = hint
  }

  package static func == (left: GivenRefusal, right: GivenRefusal) -> Bool {
    left.name == right.name && left.rule == right.rule && left.hint == right.hint
  }
}
