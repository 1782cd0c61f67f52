import Keyspace
import Redis
import Text

/// Gives devices back to their users that were set aside: after a wrong environment or bundle id
/// in the configuration was corrected, say. Confined to the loop of its Redis client.
package struct DeviceRestoration {
  /// The outcome for one device.
  package enum Fate: Sendable, Equatable {
    /// Its user's again; or would be, when nothing is to be written.
    case restored
    /// Another user owns the token: a token belongs to one. As a rule that user's bind has taken it
    /// out of what is set aside; where it died before it did, it stands there still.
    case takenByAnother
    /// A login took it out, it was set aside again, or the time in which it can be given back
    /// ended, between reading and writing.
    case changed
  }

  private let redis: RedisClient
  private let keyspace: Keyspace
  private let binder: TokenBinder
  private let tell: Tell?

  package typealias Tell = @Sendable ([QuarantinedDevice]) async throws(DevicesError) -> Void

  /// - Parameter tell: hears of devices just before they are given back, so that a death in between
  ///   leaves none untold; the next run then tells of them again.
  package init(redis: RedisClient, keyspace: Keyspace, tell: Tell? = nil) {
    self.tell = tell
    self.redis = redis
    self.keyspace = keyspace
    binder = TokenBinder(redis: redis, keyspace: keyspace)
  }

  /// Looks at all that was set aside and restores what `filter` admits; without `writes` it only
  /// tells. A call may be repeated. `told` gets every device admitted, page by page, and whether to
  /// go on is its answer.
  /// - Returns: entries that are no device of ours, or beside keys of another type.
  @discardableResult
  package func run(
    _ filter: QuarantineFilter, writes: Bool,
    told: ([(device: QuarantinedDevice, fate: Fate)]) -> Bool
  ) async throws(DevicesError) -> Int {
    var unreadable = 0
    if let user = filter.user {
      guard Keyspace.isIdentifier(user) else {
        throw DevicesError(.invalid, AudienceRow.identifierProblem("user"))
      }
      _ = told(try await page([user], filter, writes, &unreadable))
      return unreadable
    }
    // SCAN may tell a key more than once.
    var seen: Set<ExactText> = []
    try await KeyScan(redis: redis, pattern: keyspace.quarantinedPattern).run {
      (keys) async throws(DevicesError) -> Bool in
      let users = keys.compactMap { keyspace.user(ofQuarantined: $0) }.filter {
        Keyspace.isIdentifier($0) && seen.insert(ExactText($0)).inserted
      }
      guard !users.isEmpty else { return true }
      return told(try await page(users, filter, writes, &unreadable))
    }
    return unreadable
  }

  private func page(
    _ users: [String], _ filter: QuarantineFilter, _ writes: Bool, _ unreadable: inout Int
  ) async throws(DevicesError) -> [(device: QuarantinedDevice, fate: Fate)] {
    let pipeline = RedisPipeline()
    for user in users { pipeline.append(["HGETALL", keyspace.quarantined(user: user)]) }
    let replies = try await redis.replies(to: pipeline)
    var devices: [QuarantinedDevice] = []
    for (index, user) in users.enumerated() {
      let reply = replies[index]
      if let error = reply.error {
        // One key that somebody else wrote must not keep the others' devices away.
        guard error.kind == .wrongType else { throw DevicesError(reply: error.message) }
        unreadable += 1
        continue
      }
      for position in stride(from: 0, to: reply.count - 1, by: 2) {
        guard let member = reply[position].text, let value = reply[position + 1].text,
          let device = QuarantinedDevice(user: user, member: member, value: value)
        else {
          unreadable += 1
          continue
        }
        if filter.admits(device) { devices.append(device) }
      }
    }
    return writes ? try await restore(devices, &unreadable) : try await foresee(devices)
  }

  private func foresee(
    _ devices: [QuarantinedDevice]
  ) async throws(DevicesError) -> [(device: QuarantinedDevice, fate: Fate)] {
    guard !devices.isEmpty else { return [] }
    let pipeline = RedisPipeline()
    for device in devices {
      pipeline.append(["GET", keyspace.tokenOwner(token: device.binding.token)])
    }
    let replies = try await redis.replies(to: pipeline)
    if let error = replies.firstError { throw DevicesError(reply: error.message) }
    return devices.enumerated().map { index, device in
      let owner = replies[index].bytes
      let isFree = owner.map { $0.isEmpty || $0.elementsEqual(device.user.utf8) } ?? true
      return (device, isFree ? .restored : .takenByAnother)
    }
  }

  private func restore(
    _ devices: [QuarantinedDevice], _ unreadable: inout Int
  ) async throws(DevicesError) -> [(device: QuarantinedDevice, fate: Fate)] {
    if let tell, !devices.isEmpty {
      try await tell(try await foresee(devices).filter { $0.fate == .restored }.map(\.device))
    }
    var result: [(device: QuarantinedDevice, fate: Fate)] = []
    for device in devices {
      do throws(DevicesError) {
        result.append((device, try await binder.restore(device)))
      } catch {
        guard error.code == .redis(.wrongType) else { throw error }
        unreadable += 1
      }
    }
    return result
  }
}

/// Counts of a restoration, or of its dry run.
package struct RestorationCounts: Sendable {
  /// Devices that were set aside for the same reason, of the same app and environment.
  package struct Group: Hashable, Sendable {
    package let reason: String
    package let topic: String
    package let environment: String
  }

  package private(set) var groups: [Group: Int] = [:]
  package private(set) var restored = 0
  package private(set) var takenByAnother = 0
  package private(set) var changed = 0
  package var unreadable = 0
  package var isInterrupted = false

  package init() {}

  package mutating func add(_ devices: [(device: QuarantinedDevice, fate: DeviceRestoration.Fate)])
  {
    for (device, fate) in devices {
      switch fate {
      case .restored:
        restored += 1
        let group = Group(
          reason: device.reason, topic: device.binding.topic,
          environment: device.binding.destination.name)
        groups[group, default: 0] += 1
      case .takenByAnother: takenByAnother += 1
      case .changed: changed += 1
      }
    }
  }

  package var sortedGroups: [(group: Group, count: Int)] {
    groups.map { (group: $0.key, count: $0.value) }.sorted {
      ($0.count, $1.group.reason, $1.group.topic) > ($1.count, $0.group.reason, $0.group.topic)
    }
  }
}
