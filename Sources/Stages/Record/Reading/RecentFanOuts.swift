import Redis

extension RecordStage {
  /// The fan-outs that began last, the latest first. Those whose hash is gone are left out.
  package func recentFanOuts(atMost limit: Int) async throws(RecordError) -> [KnownFanOut] {
    let events = try await begunLast(atMost: limit)
    guard !events.isEmpty else { return [] }
    let replies = try await ask(ofEach: events) { ["HGETALL", $0] }
    var known: [KnownFanOut] = []
    for (index, event) in events.enumerated() {
      guard let fields = replies[index].dictionary, !fields.isEmpty else { continue }
      known.append(KnownFanOut(event: event, status: FanOutStatus(fields: fields)))
    }
    return known
  }

  /// Their ids, the latest first.
  func begunLast(atMost limit: Int) async throws(RecordError) -> [String] {
    let entries = try await execute([
      "XREVRANGE", keyspace.statsFanOuts, "+", "-", "COUNT", String(limit),
    ])
    var known: Set<String> = []
    return (0..<entries.count).compactMap { entries[$0][1][1].text }
      .filter { known.insert($0).inserted }
  }
}
