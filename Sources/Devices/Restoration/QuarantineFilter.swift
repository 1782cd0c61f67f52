import Keyspace
import Model
import Text

/// Which of the devices that were set aside; what is nil admits all.
package struct QuarantineFilter: Sendable, Equatable {
  package var user: String?
  /// As its platform's tokens are stored: of Apple in lower-case hex.
  package var token: String?
  package var reason: String?
  package var topic: String?
  package var platform: Platform?
  package var environment: Destination?
  /// Set aside at or after this time, ms since 1970. A device without a time is not meant.
  package var since: Int64?
  /// Set aside before this time, ms since 1970. A device without a time is not meant.
  package var before: Int64?
  /// Devices that were pruned at or after this time, ms since 1970, and no others; nil: those that
  /// were quarantined.
  package var prunedSince: Int64?

  package init() {}

  package var isEmpty: Bool { self == QuarantineFilter() }

  func admits(_ device: QuarantinedDevice) -> Bool {
    guard user?.isExactly(device.user) ?? true, token?.isExactly(device.binding.token) ?? true,
      reason.map({ $0 == device.reason }) ?? true,
      topic.map({ $0 == device.binding.topic }) ?? true,
      platform.map({ $0 == device.binding.destination.platform }) ?? true,
      environment.map({ $0 == device.binding.destination }) ?? true
    else { return false }
    guard device.isPruned == (prunedSince != nil) else { return false }
    let since = [since, prunedSince].compactMap { $0 }.max()
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
    let platform: Platform?
    let environment: String?
    let since: String?
    let before: String?
    let prunedSince: String?

    package init(
      user: String? = nil, token: String? = nil, reason: String? = nil, topic: String? = nil,
      platform: Platform? = nil, environment: String? = nil, since: String? = nil,
      before: String? = nil,
      prunedSince: String? = nil
    ) {
      self.user = user
      self.token = token
      self.reason = reason
      self.topic = topic
      self.platform = platform
      self.environment = environment
      self.since = since
      self.before = before
      self.prunedSince = prunedSince
    }
  }

  /// - Parameter now: ms since 1970; a length of time goes back from it.
  package init(_ given: Given, now: Int64) throws(GivenRefusal) {
    self.init()
    user = try given.user.map { (text) throws(GivenRefusal) in try Devices.Given.user(text) }
    platform = given.platform
    token = try given.token.map { (text) throws(GivenRefusal) in
      try Devices.Given.token(text, of: given.platform ?? .apns)
    }
    topic = try given.topic.map { (text) throws(GivenRefusal) in try Devices.Given.topic(text) }
    environment = try given.environment.map { (text) throws(GivenRefusal) in
      try Devices.Given.environment(text)
    }
    reason = given.reason
    since = try Self.time(given.since, "since")
    before = try Self.time(given.before, "before")
    // A device that was pruned longer ago may have become another user's since.
    let kept = now - Int64(Keyspace.prunedLifetimeSeconds) * 1000
    prunedSince = try Self.start(given.prunedSince, "pruned-since", now: now).map { max($0, kept) }
  }

  /// A length of time until now, a day, or a time.
  private static func start(
    _ text: String?, _ name: String, now: Int64
  ) throws(GivenRefusal) -> Int64? {
    guard let text else { return nil }
    if let length = try? DurationText.parse(text) {
      if length > .zero { return now - length.wholeMilliseconds }
    } else if let day = Timestamp.milliseconds(text + "T00:00:00Z") {
      return day
    } else if let time = try? time(text, name) {
      return time
    }
    throw GivenRefusal(
      name: name, rule: "like 2d, 2026-11-21 or 2026-11-21T08:00:00Z, or milliseconds since 1970")
  }

  private static func time(_ text: String?, _ name: String) throws(GivenRefusal) -> Int64? {
    guard let text else { return nil }
    if let milliseconds = Int64(text), milliseconds >= 0 { return milliseconds }
    if let milliseconds = Timestamp.milliseconds(text) { return milliseconds }
    throw GivenRefusal(name: name, rule: "like 2026-11-21T08:00:00Z, or milliseconds since 1970")
  }
}
