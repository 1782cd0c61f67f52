import Keyspace
import Model
import Redis

/// What Redis holds of one user under the user's own keys.
package struct UserRecord: Sendable, Equatable {
  package let user: String
  package let devices: UserDevices
  package let profile: UserProfile
  /// Events that the user was let have within the last hour; only with `rules.events_per_hour`.
  package let reached: Int

  /// Whether there is anything. Who only follows has nothing here.
  package var isKnown: Bool { !devices.isEmpty || !profile.members.isEmpty || reached > 0 }
}

extension DeviceRegistry {
  /// Reads in one round trip, though not in one step: what is written at the same time may be in
  /// one part of the answer and not yet in another.
  package func user(_ user: String) async throws(DevicesError) -> UserRecord {
    try Self.check(user)
    let replies = try await redis.replies(
      to: [
        ["SMEMBERS", keyspace.bindings(user: user)], ["HGETALL", keyspace.bound(user: user)],
        ["HGETALL", keyspace.quarantined(user: user)],
        ["HGETALL", keyspace.profile(user: user)], ["ZCARD", keyspace.reached(user: user)],
      ])
    if let error = replies.firstError { throw DevicesError(reply: error.message) }
    return UserRecord(
      user: user, devices: Self.devices(of: user, replies), profile: Self.profile(replies[3]),
      reached: Int(replies[4].integer ?? 0))
  }

  /// As in `user(_:)`, and nothing else.
  package func devices(of user: String) async throws(DevicesError) -> UserDevices {
    try Self.check(user)
    let replies = try await redis.replies(
      to: [
        ["SMEMBERS", keyspace.bindings(user: user)], ["HGETALL", keyspace.bound(user: user)],
        ["HGETALL", keyspace.quarantined(user: user)],
      ])
    if let error = replies.firstError { throw DevicesError(reply: error.message) }
    return Self.devices(of: user, replies)
  }

  package func profile(of user: String) async throws(DevicesError) -> UserProfile {
    try Self.check(user)
    let replies = try await redis.replies(to: [["HGETALL", keyspace.profile(user: user)]])
    if let error = replies.firstError { throw DevicesError(reply: error.message) }
    return Self.profile(replies[0])
  }

  /// - Parameter replies: bindings, bound, quarantined.
  private static func devices(of user: String, _ replies: RedisReplies) -> UserDevices {
    var devices = UserDevices()
    var times: [String: Int64] = [:]
    for index in stride(from: 0, to: replies[1].count - 1, by: 2) {
      guard let member = replies[1][index].text else { continue }
      times[member] = replies[1][index + 1].decimal
    }
    for index in 0..<replies[0].count {
      guard let member = replies[0][index].text, let binding = Binding(member: member) else {
        devices.unreadable += 1
        continue
      }
      devices.bound.append(BoundDevice(binding: binding, boundAt: times[member]))
    }
    for index in stride(from: 0, to: replies[2].count - 1, by: 2) {
      guard let member = replies[2][index].text, let value = replies[2][index + 1].text,
        let device = QuarantinedDevice(user: user, member: member, value: value)
      else {
        devices.unreadable += 1
        continue
      }
      devices.setAside.append(device)
    }
    devices.bound.sort {
      ($0.boundAt ?? .min, $1.binding.member) > ($1.boundAt ?? .min, $0.binding.member)
    }
    devices.setAside.sort { $0.binding.member < $1.binding.member }
    return devices
  }

  /// In the order of the names, which Redis does not keep.
  private static func profile(_ reply: RedisReply) -> UserProfile {
    var fields: [(name: String, value: String)] = []
    for index in stride(from: 0, to: reply.count - 1, by: 2) {
      guard let name = reply[index].text, let value = reply[index + 1].text else { continue }
      fields.append((name, value))
    }
    var profile = UserProfile()
    for field in fields.sorted(by: { $0.name < $1.name }) { profile[field.name] = field.value }
    return profile
  }
}
