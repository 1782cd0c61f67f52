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

  func run(_ command: String...) { run(command.map { ByteString($0) }) }

  func run(_ command: [ByteString]) {
    let reply = world.redis.server.store.execute(command, now: world.wallClock() * 1_000)
    precondition(!reply.isError, "\(command.map(\.text)): \(reply)")
  }

  /// Binds a device a day ago.
  package func bind(_ device: WorldDevice, to user: String) {
    bind(
      member: device.member, token: device.token, to: user,
      at: world.wallClock() - 86_400_000)
  }

  /// - Parameter at: ms since 1970.
  package func bind(member: String, token: String, to user: String, at: Int64) {
    run("SADD", keyspace.bindings(user: user), member)
    run("HSET", keyspace.bound(user: user), member, "\(at)")
    run("SET", keyspace.tokenOwner(token: token), user)
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
    let keys = (0..<shards).map {
      ByteString(keyspace.followerShard(streamer: streamer, generation: 1, shard: $0))
    }
    for user in users {
      run(["SADD", keys[Keyspace.shard(of: user, shards: shards)], ByteString(user)])
    }
  }
}

/// A device of a world, by its number; what its push service says to its pushes stands in its
/// token.
package struct WorldDevice: Hashable, Sendable {
  package let number: Int
  /// The simulator's answer, three hex digits of `MagicTokens`; nil: each push is accepted.
  package let answer: String?
  /// On how many tries that is the answer; 0: on each.
  package let tries: Int
  /// Of another platform than Apple's.
  private let other: Binding?

  package init(_ number: Int, answer: String? = nil, tries: Int = 0) {
    self.number = number
    self.answer = answer
    self.tries = tries
    other = nil
  }

  /// A device of another platform.
  init(_ number: Int, _ binding: Binding) {
    self.number = number
    answer = nil
    tries = 0
    other = binding
  }

  package var token: String {
    if let other { return other.token }
    return Self.token(number, head: answer.map { "\(MagicTokens.prefix)\(tries)\($0)" } ?? "")
  }

  /// A token of 64 digits that begins with `head` and ends with the number.
  package static func token(_ number: Int, head: String) -> String {
    String(unsafeUninitializedCapacity: 64) { text in
      var end = head.utf8.count
      _ = text.initialize(fromContentsOf: head.utf8)
      text[end...].initialize(repeating: 0x30)
      end = 64
      var rest = number
      while rest > 0 {
        end -= 1
        let digit = UInt8(rest % 16)
        text[end] = digit < 10 ? 0x30 + digit : 0x57 + digit
        rest /= 16
      }
      return 64
    }
  }

  /// As its user's set of bindings has it; `binding` looks at each digit.
  package var member: String { other?.member ?? Self.prefix + token }

  private static let prefix = String(WorldDevice(0).binding.member.dropLast(64))

  package var binding: Binding {
    if let other { return other }
    guard let binding = Binding(destination: .production, topic: World.app, token: token) else {
      preconditionFailure("\(token) is no token")
    }
    return binding
  }

  /// The number of the device that a text ends with which is a token, or a member that holds one.
  /// An endpoint's is in front of its secret: `…/<number>-<secret>`, or `…/<number>.<fault>-…`.
  static func number(in text: String) -> Int? {
    guard let place = text.firstRange(of: "https://") else {
      return Int(text.suffix(12), radix: 16)
    }
    let secret = text[place.upperBound...].split(separator: "/").last
    return secret.flatMap { Int($0.prefix { $0 != "-" && $0 != "." }) }
  }

  /// The number of the device that a token is of.
  package static func number(ofToken token: UnsafeBufferPointer<UInt8>) -> Int {
    token.suffix(12).reduce(0) { number, digit in
      number << 4 | Int(digit >= 0x61 ? digit - 0x57 : digit - 0x30)
    }
  }
}
