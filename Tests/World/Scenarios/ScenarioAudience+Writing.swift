import Keyspace
import MemoryRedis

/// How followers come into Redis: as an import writes them, without its round trips.
extension ScenarioLife {
  private static let locales = ["en", "de", "ja"]

  func write(_ audience: ScenarioAudience) {
    let (keyspace, streamer) = (world.keyspace, audience.streamer)
    let shards =
      audience.shards ?? Keyspace.recommendedShards(followers: audience.followers)
    run(
      "HSET", keyspace.followers(of: streamer), "shards", "\(shards)", "generation", "1",
      "followers", "\(audience.followers)", "last", "1")
    let keys = (0..<shards).map {
      ByteString(keyspace.followerShard(streamer: streamer, generation: 1, shard: $0))
    }
    let boundAt = ByteString("\(world.wallClock() - 86_400_000)")
    for index in 0..<audience.followers {
      let user = "\(streamer)-u\(index)"
      run(["SADD", keys[Keyspace.shard(of: user, shards: shards)], ByteString(user)])
      var bindings: [ByteString] = ["SADD", ByteString(keyspace.bindings(user: user))]
      var bound: [ByteString] = ["HSET", ByteString(keyspace.bound(user: user))]
      for number in 0..<audience.devicesPerFollower {
        let device = index * audience.devicesPerFollower + number
        let member = ByteString(
          "apns:\(audience.environment.name):\(audience.app):\(audience.token(ofDevice: device))")
        bindings.append(member)
        bound += [member, boundAt]
      }
      run(bindings)
      // Asked for only where a device is to be removed.
      if !audience.marked.isEmpty { run(bound) }
      // Who has none gets the template's own language.
      guard index % 4 != 3 else { continue }
      let locale = ByteString(Self.locales[index % Self.locales.count])
      run(["HSET", ByteString(keyspace.profile(user: user)), "locale", locale, "name", "Kim"])
    }
    _ = world.redis.server.store.takeEffects()
  }

  private func run(_ words: String...) { run(words.map { ByteString($0) }) }

  private func run(_ command: [ByteString]) {
    let reply = world.redis.server.store.execute(command, now: world.wallClock() * 1_000)
    precondition(!reply.isError, "\(command.map(\.text)): \(reply)")
  }
}
