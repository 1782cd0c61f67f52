/// Every request for the devices of a scenario that reached Apple, or another push service.
///
/// Unchecked: confined to its world's thread.
final class ScenarioLedger: @unchecked Sendable {
  struct Entry {
    /// The world's nanoseconds; 0: never.
    var acceptedAt: UInt64 = 0
    var requests: UInt32 = 0
    var accepted: UInt32 = 0
    var isRefusedForGood = false
    var platform = WorldPlatform.apple
  }

  private(set) var entries: [[Entry]]
  private(set) var requestTimes: [[UInt64]]
  private(set) var firstRequest: UInt64 = 0
  private(set) var inVain = 0

  /// - Parameter audiences: in the order of their numbers, from 1 on.
  init(_ audiences: [ScenarioAudience]) {
    let count = (audiences.map(\.number).max() ?? 0) + 1
    entries = Array(repeating: [], count: count)
    requestTimes = Array(repeating: [], count: count)
    for audience in audiences {
      entries[audience.number] = Array(repeating: Entry(), count: audience.devices)
    }
  }

  /// The number of the audience stands in front of that of the device, at the end of the token.
  static func token(_ audience: Int, _ device: Int, head: String) -> String {
    WorldDevice.token(audience << 32 | device, head: head)
  }

  func observe(_ push: WorldPush, at now: UInt64) {
    let (audience, device) = (push.device >> 32, push.device & 0xFFFF_FFFF)
    guard entries.indices.contains(audience), entries[audience].indices.contains(device) else {
      preconditionFailure("a push service was asked for a device that nobody has")
    }
    if firstRequest == 0 { firstRequest = now }
    requestTimes[audience].append(now)
    entries[audience][device].requests += 1
    entries[audience][device].platform = push.platform
    switch push.answer {
    case .accepted:
      entries[audience][device].accepted += 1
      if entries[audience][device].acceptedAt == 0 { entries[audience][device].acceptedAt = now }
    case .refused(400, _), .refused(404, _), .refused(410, _):
      entries[audience][device].isRefusedForGood = true
    default: inVain += 1
    }
  }

  var doubled: Int {
    entries.reduce(0) { $0 + $1.reduce(0) { $0 + max(0, Int($1.accepted) - 1) } }
  }

  func accepted(of audience: Int) -> Int { entries[audience].count { $0.accepted > 0 } }

  func accepted(by platform: WorldPlatform) -> Int {
    entries.reduce(0) { $0 + $1.count { $0.accepted > 0 && $0.platform == platform } }
  }

  /// 0 when none was.
  func lastAccepted(of audience: Int, by platform: WorldPlatform) -> UInt64 {
    entries[audience].lazy.filter { $0.platform == platform }.map(\.acceptedAt).max() ?? 0
  }

  /// 0 when none was.
  func lastAccepted(of audience: Int) -> UInt64 { entries[audience].map(\.acceptedAt).max() ?? 0 }

  /// Accepted a second, between the first and the last twentieth.
  /// - Parameter good: devices that can be accepted.
  func goodput(of good: Int) -> Double {
    let times = entries.flatMap { $0.map(\.acceptedAt) }.filter { $0 > 0 }.sorted()
    let (first, last) = (good / 20, good - good / 20)
    guard first < last, times.count >= last else { return 0 }
    return Double(last - first) * 1e9 / Double(max(1, times[last - 1] - times[first]))
  }
}
