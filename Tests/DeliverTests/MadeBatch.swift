import Model

@testable import Deliver

extension PushBatch {
  /// A sealed batch of one user's devices.
  static func made(
    topic: String, _ destinations: [Destination], _ tally: SegmentTally,
    expiresAt: Int64 = .max
  ) -> PushBatch {
    made(topic: topic, destinations.map { ($0, "00ff") }, tally, expiresAt: expiresAt)
  }

  /// The same for production devices with these tokens.
  static func made(topic: String, tokens: [String], _ tally: SegmentTally) -> PushBatch {
    made(topic: topic, tokens.map { (.production, $0) }, tally, expiresAt: .max)
  }

  private static func made(
    topic: String, _ devices: [(destination: Destination, token: String)],
    _ tally: SegmentTally, expiresAt: Int64
  ) -> PushBatch {
    let headers = PushHeaders(
      pushType: .alert, priority: 10, topic: topic, collapseID: nil, expiration: 0,
      expiresAt: expiresAt)
    let batch = PushBatch(event: "e", headers: headers, tally: tally)
    let page = RecipientPage(fieldNames: [])
    let user = page.bytes.append(utf8: "u1")
    for (destination, token) in devices {
      let member = page.bytes.append(utf8: "apns:x:\(topic):" + token)
      batch.append(
        recipient: .init(user: user, firstBinding: 0, bindingCount: 1),
        binding: .init(
          member: member, token: member.last(token.utf8.count), destination: destination), of: page,
        payload: batch.bytes.append(utf8: "{}"))
    }
    batch.setRoutes { UInt16($0.destination.index) }
    batch.seal()
    return batch
  }
}

extension TopicQueue {
  static func made(outliers: Outliers = Outliers()) -> TopicQueue {
    TopicQueue(name: "a.b", route: .production, isOpen: true, outliers: outliers)
  }

  /// Takes out the next push.
  func next() -> ReadyPush? {
    guard let run = upcoming(atMost: 1) else { return nil }
    drop(run, 1)
    return run.first
  }
}
