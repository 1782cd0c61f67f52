import Model
import Redis
import Text

/// Readers of Redis' replies about one user.
enum UserReplies {
  static func devices(
    of user: String, _ bindings: RedisReply, _ bound: RedisReply, _ quarantined: RedisReply
  ) -> UserDevices {
    var devices = UserDevices()
    var times: [ExactText: Int64] = [:]
    for index in stride(from: 0, to: bound.count - 1, by: 2) {
      guard let member = bound[index].text else { continue }
      times[ExactText(member)] = bound[index + 1].decimal
    }
    for index in 0..<bindings.count {
      guard let member = bindings[index].text, let binding = Binding(member: member) else {
        devices.unreadable += 1
        continue
      }
      devices.bound.append(BoundDevice(binding: binding, boundAt: times[ExactText(member)]))
    }
    for index in stride(from: 0, to: quarantined.count - 1, by: 2) {
      guard let member = quarantined[index].text, let value = quarantined[index + 1].text,
        let device = QuarantinedDevice(user: user, member: member, value: value)
      else {
        devices.unreadable += 1
        continue
      }
      // A pruned device is no longer the user's.
      if !device.isPruned { devices.setAside.append(device) }
    }
    devices.bound.sort {
      ($0.boundAt ?? .min, $1.binding.member) > ($1.boundAt ?? .min, $0.binding.member)
    }
    devices.setAside.sort { $0.binding.member < $1.binding.member }
    return devices
  }

  /// In the order of the names, which Redis does not keep.
  static func profile(_ reply: RedisReply) -> UserProfile {
    var fields: [(name: String, value: String)] = []
    for index in stride(from: 0, to: reply.count - 1, by: 2) {
      guard let name = reply[index].text, let value = reply[index + 1].text else { continue }
      fields.append((name, value))
    }
    return UserProfile(unique: fields.sorted(by: { $0.name < $1.name }))
  }
}
