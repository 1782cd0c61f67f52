import Redis

extension RecordStage {
  /// How many fields the hash of an event has at most: some 60 of ours, and one for each reason of
  /// Apple's and for each rule. Somebody else has written what has more.
  private static let maximumFields: Int64 = 1_000

  /// Throws where the hash of an event has more fields than are read. Asks with HLEN, which only
  /// the API's Redis user needs: it answers many clients, and verbs answer one.
  package func checkSize(of event: String) async throws(RecordError) {
    let key = keyspace.event(id: event)
    guard let count = try await execute(["HLEN", key]).integer, count > Self.maximumFields else {
      return
    }
    throw .tooLarge(
      "\(key) holds \(count) fields, at most \(Self.maximumFields) are read of a fan-out: HDEL "
        + "those that no worker wrote")
  }

  /// Fan-outs that are scheduled, the furthest ahead first, and behind them those that began last,
  /// the latest first; of each as many as `limit`.
  package func latestFanOuts(
    atMost limit: Int, checksSizes: Bool = false
  ) async throws(RecordError) -> [KnownFanOut] {
    let scheduled = try await scheduledFanOuts(atMost: limit, checksSizes: checksSizes)
    return try await scheduled.reversed() + recentFanOuts(atMost: limit, checksSizes: checksSizes)
  }

  /// The fan-outs that began last, the latest first. Those whose hash is gone are left out.
  ///
  /// - Parameter checksSizes: leaves out those whose hash `checkSize` refuses, too.
  package func recentFanOuts(
    atMost limit: Int, checksSizes: Bool = false
  ) async throws(RecordError) -> [KnownFanOut] {
    try await known(try await begunLast(atMost: limit), checksSizes)
  }

  /// Those whose hash is there.
  func known(
    _ ids: [String], _ checksSizes: Bool
  ) async throws(RecordError) -> [KnownFanOut] {
    var events = ids
    guard !events.isEmpty else { return [] }
    if checksSizes {
      let sizes = try await ask(ofEach: events) { ["HLEN", $0] }
      events = events.indices.filter { sizes[$0].integer ?? 0 <= Self.maximumFields }
        .map { events[$0] }
      guard !events.isEmpty else { return [] }
    }
    let replies = try await ask(ofEach: events) { ["HGETALL", $0] }
    var known: [KnownFanOut] = []
    for (index, event) in events.enumerated() {
      guard let fields = replies[index].dictionary, !fields.isEmpty else { continue }
      known.append(KnownFanOut(event: event, status: FanOutStatus(fields: fields)))
    }
    return known
  }

  /// The hashes of events, in their order; nil for those that Redis does not know, or does not
  /// show.
  package func statuses(of events: [String]) async throws(RecordError) -> [FanOutStatus?] {
    guard !events.isEmpty else { return [] }
    let replies = try await ask(ofEach: events) { ["HGETALL", $0] }
    return events.indices.map { index in
      replies[index].dictionary.flatMap { $0.isEmpty ? nil : FanOutStatus(fields: $0) }
    }
  }

  /// The ids of fan-outs, the latest first.
  package func begunLast(atMost limit: Int) async throws(RecordError) -> [String] {
    let entries = try await execute([
      "XREVRANGE", keyspace.statsFanOuts, "+", "-", "COUNT", String(limit),
    ])
    var known: Set<String> = []
    return (0..<entries.count).compactMap { entries[$0][1][1].text }
      .filter { known.insert($0).inserted }
  }
}

/// A fan-out and what its hash says.
package struct KnownFanOut: Sendable, Equatable {
  package let event: String
  package let status: FanOutStatus

  package init(event: String, status: FanOutStatus) {
    self.event = event
    self.status = status
  }
}
