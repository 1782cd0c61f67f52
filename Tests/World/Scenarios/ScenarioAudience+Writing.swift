import Keyspace
import MemoryRedis
import Model

/// How followers come into Redis: as an import writes them, without its round trips.
extension ScenarioLife {
  private static let locales = ["en", "de", "ja"]

  func write(_ audience: ScenarioAudience) {
    let (keyspace, streamer) = (world.keyspace, audience.streamer)
    let redis = WorldAudience(world)
    redis.follow(
      streamer, users: (0..<audience.followers).map { "\(streamer)-u\($0)" },
      shards: audience.shards ?? Keyspace.recommendedShards(followers: audience.followers))
    let boundAt = ByteString(audience.boundAt ?? "\(world.wallClock() - 86_400_000)")
    for index in 0..<audience.followers {
      let user = "\(streamer)-u\(index)"
      var bindings: [ByteString] = ["SADD", ByteString(keyspace.bindings(user: user))]
      var bound: [ByteString] = ["HSET", ByteString(keyspace.bound(user: user))]
      for number in 0..<audience.devicesPerFollower {
        let device = index * audience.devicesPerFollower + number
        if let other = binding(audience, device) {
          bindings.append(ByteString(other.member))
          bound += [ByteString(other.member), boundAt]
          continue
        }
        let isOfSandbox = audience.isMixed && number == audience.devicesPerFollower - 1
        let destination = isOfSandbox ? .sandbox : audience.destination
        let member = ByteString(
          "apns:\(destination.name):\(audience.app):\(audience.token(ofDevice: device))")
        bindings.append(member)
        bound += [member, boundAt]
      }
      redis.run(bindings)
      // Asked for only where a device is to be removed.
      if !audience.marked.isEmpty { redis.run(bound) }
      // Who has none gets the template's own language.
      guard index % 4 != 3 else { continue }
      let locale = ByteString(Self.locales[index % Self.locales.count])
      redis.run(["HSET", ByteString(keyspace.profile(user: user)), "locale", locale, "name", "Kim"])
    }
    _ = world.redis.server.store.takeEffects()
  }

  /// Nil: the device is Apple's.
  private func binding(_ audience: ScenarioAudience, _ index: Int) -> Binding? {
    let number = audience.number << 32 | index
    let isGone = audience.mark(ofDevice: index)?.isGoneElsewhere == true
    return switch audience.platforms.platform(ofDevice: index) {
    case .apple: nil
    case .fcm:
      Binding(
        destination: .fcm, topic: audience.app,
        token: WorldFCMToken.text(number, fault: isGone ? (.unregistered, 0) : nil))
    case .webpush: world.webpush?.binding(number, fault: isGone ? (.gone, 0) : nil)
    }
  }
}
