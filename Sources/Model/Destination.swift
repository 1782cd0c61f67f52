import Threads

/// A push service that Fanfare sends to, as far as every room needs to know it: how a device's
/// token is written and stored, and what its reasons are called. How its requests look, and what
/// its answers mean, is known to its room under `Sources/Platforms` alone.
package struct Platform: Sendable, Equatable {
  /// How a device's token is written; the platform's own rule, checked wherever one comes in.
  package enum TokenFormat: Sendable, Equatable {
    /// Hex digits, an even number of them; stored in lower case.
    case hex(maximumBytes: Int)
    /// Any visible ASCII but braces, stored as given: a token's key has it in its hash tag.
    case opaque(maximumBytes: Int)

    package var maximumBytes: Int {
      switch self {
      case .hex(let maximum), .opaque(let maximum): maximum
      }
    }
  }

  /// The first field of members of a user's set of bindings: lower-case letters.
  package let name: String
  /// Its name, or its owner's, in messages for people.
  package let owner: String
  /// Its own name, as operators know it.
  package let title: String
  /// Its separate services, the second field of members; none when it has but one, and then members
  /// have no such field.
  package let environments: [String]
  package let tokens: TokenFormat
  /// Bytes of the keys that messages for a device are encrypted with, a field of members before the
  /// token; nil: there are none.
  package let keyBytes: ClosedRange<Int>?
  /// Why it rejects a push, as it spells it: what is counted.
  package let reasons: [String]

  package init(
    name: String, owner: String? = nil, title: String? = nil, environments: [String] = [],
    tokens: TokenFormat,
    keyBytes: ClosedRange<Int>? = nil, reasons: [String] = []
  ) {
    self.name = name
    self.owner = owner ?? name
    self.title = title ?? owner ?? name
    self.environments = environments
    self.tokens = tokens
    self.keyBytes = keyBytes
    self.reasons = reasons
  }

  /// Apple: "never assume a size"; 512 digits are four times today's.
  package static let apns = Platform(
    name: "apns", owner: "Apple", title: "APNs", environments: ["production", "sandbox"],
    tokens: .hex(maximumBytes: 512),
    reasons: [
      "BadCollapseId", "BadDeviceToken", "BadExpirationDate", "BadMessageId", "BadPriority",
      "BadTopic", "DeviceTokenNotForTopic", "DuplicateHeaders", "IdleTimeout", "InvalidPushType",
      "MissingDeviceToken", "MissingTopic", "PayloadEmpty", "TopicDisallowed", "BadCertificate",
      "BadCertificateEnvironment", "ExpiredProviderToken", "Forbidden", "InvalidProviderToken",
      "MissingProviderToken", "UnrelatedKeyIdInToken", "BadEnvironmentKeyIdInToken", "BadPath",
      "MethodNotAllowed", "ExpiredToken", "Unregistered", "PayloadTooLarge",
      "TooManyProviderTokenUpdates", "TooManyRequests", "InternalServerError",
      "ServiceUnavailable", "Shutdown",
    ])

  /// Google documents no format of registration tokens, and no longest one; 4 KiB are many times
  /// today's. `DEVICE_QUOTA_EXCEEDED` is our name for a QUOTA_EXCEEDED that is about one device.
  package static let fcm = Platform(
    name: "fcm", owner: "FCM", tokens: .opaque(maximumBytes: 4096),
    reasons: [
      "UNREGISTERED", "SENDER_ID_MISMATCH", "INVALID_ARGUMENT", "QUOTA_EXCEEDED",
      "DEVICE_QUOTA_EXCEEDED", "UNAVAILABLE", "INTERNAL", "THIRD_PARTY_AUTH_ERROR",
      "UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND",
    ])

  /// RFC 8030; a token is the URL of a subscription's push resource. Its keys are a public key of
  /// 87 characters, a secret of 22, and the id of our key pair, of 64 at most, with dots between.
  package static let webpush = Platform(
    name: "webpush", owner: "The push service", title: "Web Push",
    tokens: .opaque(maximumBytes: 2048),
    keyBytes: 112...175,
    reasons: [
      "Gone", "NotFound", "PayloadTooLarge", "TooManyRequests", "BadCredentials",
      "CredentialsMismatch", "BadRequest", "ServerError", "ServiceUnavailable", "Redirected",
    ])

  /// Those that ship, in the order of their destinations.
  static let shipped = [apns, fcm, webpush]
}

/// Where a push goes: a platform, and one of its environments. An index, so that a push carries one
/// byte and tallies are arrays.
package struct Destination: Sendable, Hashable {
  package let index: UInt8

  package static let production = Destination(index: 0)
  package static let sandbox = Destination(index: 1)
  package static let fcm = Destination(index: 2)
  package static let webpush = Destination(index: 3)
  /// There are never more: tallies have so many counters.
  package static let maximum = 8

  private struct Row {
    let platform: Platform
    let environment: String?
    let prefix: String
  }

  /// Of the platforms that ship: read without a lock.
  private static let shipped = Platform.shipped.flatMap { rows(of: $0) }
  private static let added = ThreadLock<[Row]>([])

  private static func rows(of platform: Platform) -> [Row] {
    guard !platform.environments.isEmpty else {
      return [Row(platform: platform, environment: nil, prefix: platform.name + ":")]
    }
    return platform.environments.map {
      Row(platform: platform, environment: $0, prefix: "\(platform.name):\($0):")
    }
  }

  /// Makes a platform known, once, before anything is sent; again it changes nothing. Returns its
  /// destinations, in the order of its environments.
  @discardableResult
  package static func add(_ platform: Platform) -> [Destination] {
    added.withLock { added in
      if !(shipped + added).contains(where: { $0.platform == platform }) {
        precondition(
          !(shipped + added).contains { $0.platform.name == platform.name },
          "two platforms have one name")
        added += Self.rows(of: platform)
        RejectionReason.add(platform)
        precondition(
          shipped.count + added.count <= maximum, "there are more destinations than counters")
      }
      let all = shipped + added
      return all.indices.filter { all[$0].platform == platform }
        .map { Destination(index: UInt8($0)) }
    }
  }

  package static var all: [Destination] {
    let count = shipped.count + added.withLock { $0.count }
    return (0..<count).map { Destination(index: UInt8($0)) }
  }

  private var row: Row {
    let index = Int(index)
    guard index >= Self.shipped.count else { return Self.shipped[index] }
    return Self.added.withLock { $0[index - Self.shipped.count] }
  }

  package var platform: Platform { row.platform }
  /// Nil where the platform has but one.
  package var environment: String? { row.environment }
  /// The environment's, or the platform's when it has but one: what settings, metrics and logs call
  /// it.
  package var name: String { row.environment ?? row.platform.name }
  /// The members of a user's set of bindings begin with it, the colon included.
  package var memberPrefix: String { row.prefix }

  /// Nil for no member of ours.
  package init?(ofMember member: String) {
    func isOf(_ row: Row) -> Bool { member.utf8.starts(with: row.prefix.utf8) }
    if let index = Self.shipped.firstIndex(where: isOf) {
      self.init(index: UInt8(index))
    } else if let index = Self.added.withLock({ $0.firstIndex(where: isOf) }) {
      self.init(index: UInt8(Self.shipped.count + index))
    } else {
      return nil
    }
  }

  /// The platform's, in the order of its environments.
  package static func all(of platform: Platform) -> [Destination] {
    all.filter { $0.platform == platform }
  }

  package init?(named name: String) {
    guard let found = Self.all.first(where: { $0.name == name }) else { return nil }
    self = found
  }

  private init(index: UInt8) { self.index = index }
}

/// The way of a push to Apple, as far as it can be closed: an environment, and in it a topic whose
/// credentials may be refused.
package struct PushRoute: Sendable, Equatable, Hashable {
  package let destination: Destination
  /// Bundle id and the push type's suffix, as in `PushHeaders`.
  package let topic: String

  package init(destination: Destination, topic: String) {
    self.destination = destination
    self.topic = topic
  }
}
