import Redis

extension RecordStage {
  /// The fan-outs that began last, the latest first. Those whose hash is gone are left out.
  package func recentFanOuts(atMost limit: Int) async throws(RecordError) -> [KnownFanOut] {
    let entries = try await execute([
      "XREVRANGE", keyspace.statsFanOuts, "+", "-", "COUNT", String(limit),
    ])
    var events: [String] = []
    for index in 0..<entries.count {
      guard let event = entries[index][1][1].text, !events.contains(event) else { continue }
      events.append(event)
    }
    guard !events.isEmpty else { return [] }
    let replies = try await ask(ofEach: events) { ["HGETALL", $0] }
    var known: [KnownFanOut] = []
    for (index, event) in events.enumerated() {
      guard let fields = replies[index].dictionary, !fields.isEmpty else { continue }
      known.append(KnownFanOut(event: event, status: FanOutStatus(fields: fields)))
    }
    return known
  }
}
