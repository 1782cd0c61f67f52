import JSON
import Text

/// The last pushes that came in, so that somebody can see what a device would have got. Bounded by
/// bytes: two halves are filled in turn, and the older one is forgotten as a whole. Written for
/// each push, read when somebody asks.
final class RecentPushes {
  /// Together some 20,000 pushes of a usual size.
  private static let bytesOfHalf = 4 << 20
  private static let headBytes = 8

  private var current: [UInt8] = []
  private var older: [UInt8] = []

  func removeAll() {
    current = []
    older = []
  }

  func add(_ record: RequestRecord, accepted: Bool) {
    let size = Self.headBytes + record.tokenCount + record.topicCount + record.bodyCount
    if current.isEmpty { current.reserveCapacity(Self.bytesOfHalf) }
    if current.count + size > Self.bytesOfHalf {
      swap(&current, &older)
      current.removeAll(keepingCapacity: true)
    }
    for count in [record.tokenCount, record.topicCount, record.bodyCount] {
      current.append(UInt8(truncatingIfNeeded: count))
      current.append(UInt8(truncatingIfNeeded: count >> 8))
    }
    current.append(accepted ? 1 : 0)
    current.append(record.pushType.rawValue)
    current.append(contentsOf: UnsafeBufferPointer(start: record.token, count: record.tokenCount))
    current.append(contentsOf: UnsafeBufferPointer(start: record.topic, count: record.topicCount))
    current.append(contentsOf: record.body)
  }

  /// The last push to a token (lower-case hex), as JSON; nil when there is none or it is too long
  /// ago.
  func json(of token: [UInt8]) -> String? {
    guard !token.isEmpty, let push = last(of: token, in: current) ?? last(of: token, in: older)
    else { return nil }
    let type = SimulatedPushType(rawValue: push.pushType) ?? .none
    let payload = push.payload.withUnsafeBytes {
      PayloadScan.isObject($0) ? String(decoding: $0, as: UTF8.self) : nil
    }
    let quoted = payload ?? JSONString.quoted(String(decoding: push.payload, as: UTF8.self))
    return "{\"token\":\(JSONString.quoted(String(decoding: token, as: UTF8.self))),"
      + "\"topic\":\(JSONString.quoted(String(decoding: push.topic, as: UTF8.self))),"
      + "\"push_type\":\"\(type.name)\",\"accepted\":\(push.isAccepted),\"payload\":\(quoted)}"
  }

  private struct Push {
    let topic: ArraySlice<UInt8>
    let payload: ArraySlice<UInt8>
    let isAccepted: Bool
    let pushType: UInt8
  }

  private func last(of token: [UInt8], in half: [UInt8]) -> Push? {
    var found: Push?
    var place = 0
    while place + Self.headBytes <= half.count {
      func count(_ offset: Int) -> Int {
        Int(half[place + offset]) | Int(half[place + offset + 1]) << 8
      }
      let topic = place + Self.headBytes + count(0)
      let payload = topic + count(2)
      let end = payload + count(4)
      if half[(topic - count(0))..<topic].elementsEqual(token) {
        found = Push(
          topic: half[topic..<payload], payload: half[payload..<end],
          isAccepted: half[place + 6] == 1, pushType: half[place + 7])
      }
      place = end
    }
    return found
  }
}
