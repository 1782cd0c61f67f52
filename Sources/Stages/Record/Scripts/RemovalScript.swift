import Keyspace
import Model
import Redis

/// The script that counts how many of an app's answers are 410s, for all workers and lanes
/// together.
enum RemovalScript {
  static let ask = RedisScript([PackageResources.may_remove_lua])
}

extension RecordStage {
  /// Whether devices may be removed that Apple calls gone. They count, whatever is said.
  /// - Parameter answers: for the same app and environment since the last call, these among them.
  func mayRemove(
    _ removals: Int, of answers: Int, topic: String, _ destination: Destination
  ) async throws(RecordError) -> Bool {
    guard options.removalShare < 100 else { return true }
    let reply = try await evaluate(
      RemovalScript.ask,
      keys: [keyspace.removals(topic: topic, environment: destination.name)],
      arguments: [
        "answers": String(answers), "removals": String(removals),
        "samples": String(options.removalSamples), "share": String(options.removalShare),
        "window_ms": String(options.removalWindow.wholeMilliseconds),
        "lifetime_seconds": String(Keyspace.removalsLifetimeSeconds),
      ])
    guard let may = reply.integer else {
      throw .unexpected(reply.kind, from: "the script that counts removals")
    }
    return may == 1
  }
}
