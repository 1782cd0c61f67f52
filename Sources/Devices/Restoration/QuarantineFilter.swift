import Model
import Text

/// Which of the devices that were set aside; what is nil admits all.
package struct QuarantineFilter: Sendable, Equatable {
  package var user: String?
  /// Lower-case hex.
  package var token: String?
  package var reason: String?
  package var topic: String?
  package var environment: APNsEnvironment?
  /// Set aside at or after this time, ms since 1970. A device without a time is not meant.
  package var since: Int64?
  /// Set aside before this time, ms since 1970. A device without a time is not meant.
  package var before: Int64?

  package init() {}

  package var isEmpty: Bool { self == QuarantineFilter() }

  func admits(_ device: QuarantinedDevice) -> Bool {
    guard user?.isExactly(device.user) ?? true, token.map({ $0 == device.binding.token }) ?? true,
      reason.map({ $0 == device.reason }) ?? true,
      topic.map({ $0 == device.binding.topic }) ?? true,
      environment.map({ $0 == device.binding.environment }) ?? true
    else { return false }
    guard since != nil || before != nil else { return true }
    guard let time = device.setAsideAt else { return false }
    return time >= since ?? .min && time < before ?? .max
  }
}

extension QuarantineFilter {
  /// As somebody writes it.
  package struct Given {
    let user: String?
    let token: String?
    let reason: String?
    let topic: String?
    let environment: String?
    let since: String?
    let before: String?

    package init(
      user: String? = nil, token: String? = nil, reason: String? = nil, topic: String? = nil,
      environment: String? = nil, since: String? = nil, before: String? = nil
    ) {
      self.user = user
      self.token = token
      self.reason = reason
      self.topic = topic
      self.environment = environment
      self.since = since
      self.before = before
    }
  }

  package init(_ given: Given) throws(GivenRefusal) {
    self.init()
    user = try given.user.map { (text) throws(GivenRefusal) in try Devices.Given.user(text) }
    token = try given.token.map { (text) throws(GivenRefusal) in try Devices.Given.token(text) }
    topic = try given.topic.map { (text) throws(GivenRefusal) in try Devices.Given.topic(text) }
    environment = try given.environment.map { (text) throws(GivenRefusal) in
      try Devices.Given.environment(text)
    }
    reason = given.reason
    since = try Self.time(given.since, "since")
    before = try Self.time(given.before, "before")
  }

  private static func time(_ text: String?, _ name: String) throws(GivenRefusal) -> Int64? {
    guard let text else { return nil }
    if let milliseconds = Int64(text), milliseconds >= 0 { return milliseconds }
    if let milliseconds = Timestamp.milliseconds(text) { return milliseconds }
    throw GivenRefusal(name: name, rule: "like 2026-11-21T08:00:00Z, or milliseconds since 1970")
  }
}
