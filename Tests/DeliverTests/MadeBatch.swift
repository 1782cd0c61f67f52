import Model

extension PushBatch {
  /// A sealed batch of one user's devices.
  static func made(
    topic: String, _ environments: [APNsEnvironment], _ tally: SegmentTally,
    expiresAt: Int64 = .max
  ) -> PushBatch {
    let headers = PushHeaders(
      pushType: .alert, priority: 10, topic: topic, collapseID: nil, expiration: 0,
      expiresAt: expiresAt)
    let batch = PushBatch(event: "e", headers: headers, tally: tally)
    let page = RecipientPage(fieldNames: [])
    let user = page.bytes.append(utf8: "u1")
    for environment in environments {
      let member = page.bytes.append(utf8: "apns:x:\(topic):00ff")
      batch.append(
        recipient: .init(user: user, firstBinding: 0, bindingCount: 1),
        binding: .init(member: member, token: member.last(4), environment: environment), of: page,
        payload: batch.bytes.append(utf8: "{}"))
    }
    batch.seal()
    return batch
  }
}
