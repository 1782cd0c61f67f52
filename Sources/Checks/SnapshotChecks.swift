import EventLoop
import Keyspace
import Record
import Redis

/// Whether Redis tells our user of writes, so that snapshots of users can be kept.
enum SnapshotChecks {
  private static let area = "redis"
  private static let key = "redis.snapshots"
  /// For the question what our user may do.
  private static let answerLimit: Duration = .seconds(1)

  static let ofNoUse =
    "no snapshots of users are kept (redis.snapshots): of no use with redis.read_from_replicas, "
    + "rules.events_per_hour, or rules.devices newest"

  /// Nobody asks what was written.
  final class Deaf: RedisTrackingDelegate {
    func trackingBegan(at server: TrackedServer) {}
    func trackingEnded(at server: TrackedServer) {}
    func wereWritten(_ keys: RedisReply, at server: TrackedServer) {}
    func everythingWasWritten(at server: TrackedServer) {}
    func intervalPassed(at server: TrackedServer) {}
  }

  /// What only snapshots need, but for what the connection that hears of writes begins with.
  static func commands(_ key: String) -> [[String]] {
    [["MGET", key], ["PTTL", key], ["PEXPIRE", key, "1"], ["HLEN", key]]
  }

  /// Those of them that our user may not use. A node that does not serve the key says so, after it
  /// has looked at our permissions.
  private static func refused(_ client: RedisClient, _ keyspace: Keyspace) async -> [String] {
    let commands = commands(keyspace.probe)
    let pipeline = RedisPipeline()
    for command in commands { pipeline.append(command) }
    guard let answers = try? await client.executeOnMasters(pipeline, timeout: answerLimit) else {
      return []
    }
    let refused = answers.flatMap { CommandPermissions.refused(commands, $0.replies) }
    return commands.map { $0[0] }.filter(refused.contains)
  }

  /// So many masters have together as long as a connection to begin.
  /// - Parameter client: one that is told of writes.
  static func run(
    _ client: RedisClient, _ options: RedisOptions, masters: Int, _ keyspace: Keyspace,
    _ loop: EventLoop, _ list: inout CheckList
  ) async {
    await loop.wait(upTo: options.connectTimeout) { client.trackingStates.count >= masters }
    let refused = await refused(client, keyspace)
    if !refused.isEmpty {
      list.warning(
        area, .dependency,
        "the Redis user may not \(refused.joined(separator: ", ")): snapshots of users are of no "
          + "use", key: key)
    }
    let states = client.trackingStates
    if states.count < masters {
      list.warning(
        area, .dependency,
        "\(masters - states.count) of \(masters) masters do not say whether they tell of writes",
        key: key)
    }
    for (master, obstacle) in states {
      if let obstacle {
        list.warning(
          area, .dependency,
          "\(master) does not tell of writes, and no snapshots of users are kept: \(obstacle)",
          key: key)
      } else {
        list.ok(area, "\(master) tells of writes to users: snapshots of them can be kept")
      }
    }
  }
}
