/// What reached Apple and the other push services, by event and device.
package final class PushBook {
  struct Entry {
    var requests: UInt16 = 0
    var accepted: UInt16 = 0
    /// Refusals that no other try makes better.
    var refused: UInt16 = 0
    /// When it was accepted first, in nanoseconds of the world.
    var firstAcceptance: UInt64 = 0
  }

  struct Copy {
    let event: Int
    let device: Int
    let first: UInt64
    let second: UInt64
  }

  private(set) var entries: [Int: [Entry]] = [:]
  /// Acceptances behind the first of the same push.
  private(set) var copies: [Copy] = []
  /// When its push service first called a device gone, or no device of ours.
  private(set) var goneSince: [Int: UInt64] = [:]
  /// What devices were called gone for.
  private(set) var goneReasons: [Int: Set<String>] = [:]
  /// Refusals that no other try makes better, by event and reason.
  private(set) var refusals: [Int: [String: Int]] = [:]
  /// When the first request for an event came, and the last.
  private(set) var times: [Int: ClosedRange<UInt64>] = [:]
  private(set) var requests = 0
  private(set) var accepted = 0

  private static let mark = Array("\"e\":\"e".utf8)

  /// - Returns: the event's number; nil: the payload names none.
  static func event(of payload: UnsafeRawBufferPointer) -> Int? {
    var place = payload.count - mark.count
    while place >= 0 {
      let end = place + mark.count
      if payload[place] == 0x22, payload[place..<end].elementsEqual(mark) {
        return payload[end...].prefix { (0x30...0x39).contains($0) }
          .reduce(0) { $0 * 10 + Int($1 - 0x30) }
      }
      place -= 1
    }
    return nil
  }

  func add(event: Int?, device: Int, _ answer: WorldPush.Answer, at now: UInt64) {
    requests += 1
    guard let event else { return }
    times[event] = (times[event]?.lowerBound ?? now)...now
    if entries[event, default: []].count <= device {
      entries[event, default: []] += Array(
        repeating: Entry(), count: device + 1 - entries[event, default: []].count)
    }
    change(event, device) { entry in
      entry.requests &+= 1
      switch answer {
      case .accepted:
        accepted += 1
        if entry.accepted > 0 {
          copies.append(
            Copy(event: event, device: device, first: entry.firstAcceptance, second: now))
        } else {
          entry.firstAcceptance = now
        }
        entry.accepted &+= 1
      case .refused(_, let reason):
        if Self.finalReasons.contains(reason) {
          entry.refused &+= 1
          refusals[event, default: [:]][reason, default: 0] += 1
        }
        if Self.ofTokens.contains(reason) {
          goneSince[device] = goneSince[device] ?? now
          goneReasons[device, default: []].insert(reason)
        }
      case .unanswered: break
      }
    }
  }

  private func change(_ event: Int, _ device: Int, _ body: (inout Entry) -> Void) {
    entries[event]?.withUnsafeMutableBufferPointer { body(&$0[device]) }
  }

  static let finalReasons: Set<String> = [
    "Unregistered", "ExpiredToken", "BadDeviceToken", "DeviceTokenNotForTopic", "PayloadTooLarge",
    "TopicDisallowed",
    // FCM's; in lives INVALID_ARGUMENT is always about the token.
    "UNREGISTERED", "SENDER_ID_MISMATCH", "INVALID_ARGUMENT",
    // Those of push services of browsers.
    "Gone", "NotFound", "BadRequest",
  ]

  /// Those that say something of a token.
  static let ofTokens = finalReasons.subtracting([
    "PayloadTooLarge", "TopicDisallowed", "BadRequest",
  ])

  func entry(_ event: Int, _ device: Int) -> Entry {
    guard let all = entries[event], device < all.count else { return Entry() }
    return all[device]
  }

  /// Of an event: requests, devices that they were for, and acceptances.
  func sums(_ event: Int) -> (requests: Int, devices: Int, accepted: Int) {
    (entries[event] ?? []).reduce((0, 0, 0)) {
      ($0.0 + Int($1.requests), $0.1 + ($1.requests > 0 ? 1 : 0), $0.2 + Int($1.accepted))
    }
  }

  func distinctAccepted(_ event: Int) -> Int { (entries[event] ?? []).count { $0.accepted > 0 } }
}
