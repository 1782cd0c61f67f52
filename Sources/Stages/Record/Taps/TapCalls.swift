import Keyspace
import Redis

enum TapScripts {
  static let keep = RedisScript([SharedLua.permissions, PackageResources.tap_lua])
}

/// Taps: somebody watches single outcomes as they happen. A tap keeps its request in Redis alive;
/// workers look for requests with their heartbeats, and append samples while there are any.
extension RecordStage {
  // MARK: workers

  /// The request of all taps now, nil while there is none; and how many workers share the rate,
  /// this one among them.
  package func tapRequest() async throws(RecordError) -> (request: TapRequest?, workers: Int) {
    let replies = try await checkedReplies(
      to: [["HGETALL", keyspace.tapRequests], ["HLEN", keyspace.workers]])
    let workers = max(1, Int(clamping: replies[1].integer ?? 1))
    let fields = (0..<replies[0].count / 2).map {
      (name: replies[0][2 * $0].text ?? "", value: replies[0][2 * $0 + 1].text ?? "")
    }
    return (TapRequest(fields: fields), workers)
  }

  /// Appends samples in one round trip. Not safe to repeat: a sample may be seen twice then.
  package func append(_ samples: [TapSample]) async throws(RecordError) {
    guard !samples.isEmpty else { return }
    let stream = keyspace.tapSamples
    let maximum = String(Keyspace.tapMaximumEntries)
    _ = try await checkedReplies(
      to: samples.map { ["XADD", stream, "MAXLEN", "~", maximum, "*"] + $0.entry }
        + [["EXPIRE", stream, String(Keyspace.tapSamplesLifetimeSeconds)]])
  }

  // MARK: taps

  /// Begins a tap or keeps it alive for `Keyspace.tapLifetimeSeconds`.
  ///
  /// - Parameter secret: a random text, used unless another tap has brought one.
  /// - Returns: false when there are as many taps as there may be.
  package func keepTap(
    _ id: String, _ filter: TapFilter, rate: Int, secret: String
  ) async throws(RecordError) -> Bool {
    let reply = try await evaluate(
      TapScripts.keep, keys: [keyspace.tapRequests],
      arguments: Self.tapArguments(id, TapRequest.text(filter, rate: rate), secret))
    return reply[0].text == "kept"
  }

  package func endTap(_ id: String) async throws(RecordError) {
    _ = try await evaluate(
      TapScripts.keep, keys: [keyspace.tapRequests], arguments: Self.tapArguments(id, "", ""))
  }

  private static func tapArguments(
    _ id: String, _ request: String, _ secret: String
  ) -> ScriptArguments {
    [
      "id": id, "request": request, "secret": secret,
      "lifetime_seconds": String(Keyspace.tapLifetimeSeconds),
      "maximum": String(TapRequest.maximumTaps),
    ]
  }

  /// The place behind the samples that there are now.
  package func tapEnd() async throws(RecordError) -> String {
    let reply = try await execute(["XREVRANGE", keyspace.tapSamples, "+", "-", "COUNT", "1"])
    return reply[0][0].text ?? "0-0"
  }

  /// Samples of all taps behind a place, the oldest first, and the place behind them. Of more than
  /// `Keyspace.tapMaximumEntries` the oldest are left out.
  package func tapSamples(
    after place: String
  ) async throws(RecordError) -> (samples: [TapSample], place: String) {
    let reply = try await execute([
      "XREVRANGE", keyspace.tapSamples, "+", "(" + place, "COUNT",
      String(Keyspace.tapMaximumEntries),
    ])
    let samples = (0..<reply.count).reversed().map { index in
      TapSample(fields: reply[index][1].dictionary ?? [:])
    }
    return (samples, reply[0][0].text ?? place)
  }
}
