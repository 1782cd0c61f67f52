import APNsSimulator
import Keyspace
import MemoryRedis
import Model

/// Users, devices and follows as they stand in Redis before a life begins, written without a
/// client's round trips.
package final class WorldAudience {
  private let world: World
  private let keyspace: Keyspace

  package init(_ world: World) {
    self.world = world
    keyspace = world.keyspace
  }

  package func run(_ command: String...) {
    let reply = world.redis.server.store.execute(
      command.map { Array($0.utf8) }, now: world.wallClock() * 1_000)
    precondition(!reply.isError, "\(command): \(reply)")
  }

  /// Binds a device a day ago.
  package func bind(_ device: WorldDevice, to user: String) {
    let member = device.binding.member
    run("SADD", keyspace.bindings(user: user), member)
    run("HSET", keyspace.bound(user: user), member, "\(world.wallClock() - 86_400_000)")
    run("SET", keyspace.tokenOwner(token: device.token), user)
  }

  package func profile(_ user: String, _ fields: [String: String]) {
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
      run("HSET", keyspace.profile(user: user), name, value)
    }
  }

  /// Makes these all the followers of a streamer, in so many shards.
  package func follow(_ streamer: String, users: [String], shards: Int = 1) {
    run(
      "HSET", keyspace.followers(of: streamer), "shards", "\(shards)", "generation", "1",
      "followers", "\(users.count)", "last", "1")
    for user in users {
      let shard = Keyspace.shard(of: user, shards: shards)
      run("SADD", keyspace.followerShard(streamer: streamer, generation: 1, shard: shard), user)
    }
  }
}

/// A device of a world, by its number; what Apple says to its pushes stands in its token.
package struct WorldDevice: Hashable, Sendable {
  package let number: Int
  /// The simulator's answer, three hex digits of `MagicTokens`; nil: each push is accepted.
  package let answer: String?
  /// On how many tries that is the answer; 0: on each.
  package let tries: Int

  package init(_ number: Int, answer: String? = nil, tries: Int = 0) {
    self.number = number
    self.answer = answer
    self.tries = tries
  }

  package var token: String {
    let digits = String(number, radix: 16)
    let head = answer.map { "\(MagicTokens.prefix)\(tries)\($0)" } ?? ""
    return head + String(repeating: "0", count: 64 - head.utf8.count - digits.utf8.count) + digits
  }

  package var binding: Binding {
    guard let binding = Binding(environment: .production, topic: World.app, token: token) else {
      preconditionFailure("\(token) is no token")
    }
    return binding
  }

  /// The number of the device that a token is of.
  package static func number(ofToken token: UnsafeBufferPointer<UInt8>) -> Int {
    token.suffix(12).reduce(0) { number, digit in
      number << 4 | Int(digit >= 0x61 ? digit - 0x57 : digit - 0x30)
    }
  }
}
