import Devices
import Keyspace
import MemoryRedis
import Redis

/// Followers who come and go while they are divided, and by several at a time.
final class StormFollowers {
  private let storm: Storm
  private let space: Keyspace
  private static let users = (0..<8).map { "q-u\($0)" }
  /// Who follows by the last word, for certain; of two who spoke at the same time, by what was so
  /// when both had their answers.
  private var follows: [String: Bool] = [:]
  /// Answers that are to come, by user.
  private var awaited: [String: Int] = [:]
  /// No division has died, or counted while somebody came.
  private var isCounted = true

  init(_ storm: Storm) {
    self.storm = storm
    space = storm.world.keyspace
  }

  func begin(_ round: Int, withDeaths: Bool) {
    // Who follows meanwhile would be all that there is.
    if round % 4 == 2 { return copyNonsense() }
    // They begin together; or when others have begun, and some change their minds.
    let isOrderly = storm.number(1...2) == 1
    for user in Self.users where storm.number(1...3) == 1 {
      switch storm.number(1...3) {
      case 1 where !isOrderly: change(user, [false, true], isOrderly)
      case 2 where !isOrderly:
        for follow in [true, false] { change(user, [follow], isOrderly, isContested: true) }
      default: change(user, [storm.number(1...3) > 1], isOrderly)
      }
    }
    for _ in 0..<storm.number(0...2) where round > 0 {
      let dies = withDeaths && storm.number(1...2) == 1
      isCounted = false
      storm.begin("a division", dies: dies, mayFail: true) { _, client, world in
        _ = try await AudienceSharding(redis: client, keyspace: world.keyspace)
          .run(streamer: "q0", from: .current)
      }
    }
    switch round % 4 {
    case 0: eraseAudience()
    case 1: copyPlainSet("q2-\(round)", member: "q-u1")
    default: break
    }
  }

  /// One after the other, each when the one before has its answer.
  /// - Parameter isContested: somebody else says the opposite at the same time.
  private func change(
    _ user: String, _ words: [Bool], _ isAtOnce: Bool, isContested: Bool = false
  ) {
    awaited[user, default: 0] += 1
    storm.begin("a follow of \(user)") { actor, client, world in
      if !isAtOnce {
        await actor.wait(.microseconds(Int64(world.scheduler.number(below: 8_000))))
      }
      let registry = DeviceRegistry(redis: client, keyspace: world.keyspace)
      for follow in words {
        if follow {
          _ = try await registry.follow(streamer: "q0", user: user)
        } else {
          _ = try await registry.unfollow(streamer: "q0", user: user)
        }
      }
    } whenDone: { [self] in
      awaited[user, default: 1] -= 1
      guard awaited[user] == 0 else { return }
      let isOne = members(of: "q0").contains(user)
      if !isContested, isOne != words.last {
        storm.fail("\(user) hears that it is done, and follows q0: \(isOne)")
      }
      follows[user] = isOne
    }
  }

  /// A streamer is forgotten with all followers, while others begin to follow.
  private func eraseAudience() {
    var scope = UserErasure.Scope()
    scope.erasesAudience = true
    storm.begin("an erasure", mayFail: true) { [scope] _, client, world in
      _ = try await UserErasure(redis: client, keyspace: world.keyspace)
        .run("q1", scope, writes: true)
    }
    for user in Self.users.prefix(3) {
      storm.begin("a follow of q1") { actor, client, world in
        await actor.wait(.microseconds(Int64(world.scheduler.number(below: 6_000))))
        _ = try await DeviceRegistry(redis: client, keyspace: world.keyspace)
          .follow(streamer: "q1", user: user)
      }
    }
  }

  /// Another system's followers take nobody's place who has begun to follow.
  private func copyPlainSet(_ streamer: String, member: String) {
    if storm.number(1...2) == 1 {
      // Somebody followed once, and does no more.
      _ = storm.world.ask(
        "HSET", space.followers(of: streamer), "shards", "1", "generation", "0", "followers", "0")
    }
    _ = storm.world.ask("SADD", "followers:\(streamer)", member, "q-u2", "q-u3")
    storm.begin("a copy of a plain set", mayFail: true) { actor, client, world in
      await actor.wait(.microseconds(Int64(world.scheduler.number(below: 5 * 3_000))))
      _ = try await AudienceSharding(redis: client, keyspace: world.keyspace)
        .run(streamer: streamer, from: .plain(key: "followers:\(streamer)"))
    }
    storm.begin("a follow of \(streamer)") { actor, client, world in
      await actor.wait(.microseconds(Int64(world.scheduler.number(below: 5 * 4_000))))
      _ = try await DeviceRegistry(redis: client, keyspace: world.keyspace)
        .follow(streamer: streamer, user: "q-u7")
    }
  }

  /// A plain set of nothing that could be a user takes nobody's place.
  private func copyNonsense() {
    let name = String(repeating: "x", count: 300)
    _ = storm.world.ask("SADD", "followers:nonsense", name)
    storm.begin("a copy of nonsense", mayFail: true) { _, client, world in
      _ = try await AudienceSharding(redis: client, keyspace: world.keyspace)
        .run(streamer: "q0", from: .plain(key: "followers:nonsense"), replaces: true)
    }
  }

  // MARK: what must hold

  func check(_ round: Int) {
    let found = members(of: "q0")
    for (user, isOne) in follows.sorted(by: { $0.key < $1.key }) where found.contains(user) != isOne
    {
      storm.fail("\(user) follows q0 by the last word: \(isOne)")
    }
    // For people. What is not right any more is so behind the next division.
    if !isCounted { divideQuietly() }
    let counted = Int(storm.world.hash(space.followers(of: "q0"))["followers"] ?? "0")
    if counted != found.count {
      storm.fail("q0 has \(found.count) followers, and says \(counted ?? -1)")
    }
    if round % 4 == 1, !members(of: "q2-\(round)").contains("q-u7") {
      storm.fail("q-u7 has begun to follow q2-\(round), and does not")
    }
    _ = storm.world.ask("DEL", "followers:q2-\(round)", "followers:nonsense")
  }

  private func divideQuietly() {
    isCounted = true
    // Nobody is followed by nobody; that cannot be divided.
    storm.begin("a division", mayFail: members(of: "q0").isEmpty) { _, client, world in
      _ = try await AudienceSharding(redis: client, keyspace: world.keyspace)
        .run(streamer: "q0", from: .current)
    }
    storm.settle()
  }

  private func members(of streamer: String) -> Set<String> {
    let heading = storm.world.hash(space.followers(of: streamer))
    let shards = Int(heading["shards"] ?? "") ?? 0
    let generation = Int(heading["generation"] ?? "") ?? 0
    return (0..<shards).reduce(into: []) { all, shard in
      all.formUnion(
        storm.world.members(
          space.followerShard(streamer: streamer, generation: generation, shard: shard)))
    }
  }

  /// There is no shard that is not read, but those that the heading names.
  func end() {
    let keys = storm.world.keys().filter { $0.hasPrefix("ffd:{f:q") }
    checkShards(of: "q0", keys)
    checkShards(of: "q1", keys)
    for key in keys { _ = storm.world.ask("DEL", key) }
  }

  private func checkShards(of streamer: String, _ keys: [String]) {
    let heading = storm.world.hash(space.followers(of: streamer))
    let known =
      "\(heading["generation"] ?? "-"): \(heading["next"] ?? "") \(heading["retired"] ?? "")"
    let generations = Set(known.split(separator: " ").map { $0.prefix { $0 != ":" } })
    for key in keys where key.hasPrefix("ffd:{f:\(streamer):") {
      let parts = key.split(separator: ":")
      if parts.count == 5, !generations.contains(parts[3]) {
        storm.fail("\(key) is there, and \(heading) does not name it")
      }
    }
  }
}
