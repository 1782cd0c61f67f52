import Keyspace
import Testing

@testable import Expand

@Suite struct FollowerKeysTests {
  /// Shard 3 of 8, generation 1.
  private func keys() -> FollowerKeys {
    FollowerKeys(shard: 3, of: 8, generation: 1, of: "s1", keyspace: Keyspace())
  }

  private func heading(_ shards: Int, generation: Int = 2) -> FollowerHeading {
    FollowerHeading(shards: shards, generation: generation, followers: 0)
  }

  private func all(_ keys: FollowerKeys) -> [String] {
    var keys = keys
    var all: [String] = []
    while let key = keys.current {
      all.append(key)
      keys.advance()
    }
    return all
  }

  private func expected(_ shards: [Int]) -> [String] {
    shards.map { Keyspace().followerShard(streamer: "s1", generation: 2, shard: $0) }
  }

  @Test func aShardIsOneKeyOfItsGeneration() {
    #expect(all(keys()) == [Keyspace().followerShard(streamer: "s1", generation: 1, shard: 3)])
    #expect(keys().generation == 1)
    #expect(keys().foreignShard == nil)
  }

  @Test(arguments: [
    (8, [3]), (16, [3, 11]), (32, [3, 11, 19, 27]), (4, [3]), (2, [1]), (1, [0]),
  ])
  func itsUsersAreFoundAfterAResharding(shards: Int, wanted: [Int]) {
    var keys = keys()
    keys.advance()
    #expect(keys.current == nil)
    let turned = keys.follow(heading(shards))
    #expect(turned)
    #expect(all(keys) == expected(wanted))
    #expect(keys.generation == 2)
    #expect(keys.foreignShard?.index == 3 && keys.foreignShard?.count == 8)
  }

  @Test func theGenerationThatIsReadIsNotTurnedTo() {
    var keys = keys()
    var turns = [keys.follow(heading(16, generation: 1)), keys.follow(heading(16))]
    keys.advance()
    turns.append(keys.follow(heading(16)))
    #expect(turns == [false, true, false], "it would begin again for ever")
    #expect(keys.current == expected([11]).first)
  }

  @Test func aPlainSetHasNoOtherGeneration() {
    var keys = FollowerKeys(plain: "followers", of: "s1", part: (0, 1), keyspace: Keyspace())
    #expect(keys.current == "followers" && keys.generation == nil && keys.foreignShard == nil)
    let turned = keys.follow(heading(4))
    #expect(!turned)
  }

  /// A part of a list is cut as the fan-out is, however the list is divided.
  @Test(arguments: [(1, [0]), (4, [3]), (8, [3]), (16, [3, 11])])
  func aPartIsInTheShardsThatHoldItsUsers(shards: Int, wanted: [Int]) {
    let keyspace = Keyspace().ofTags
    let keys = FollowerKeys(
      part: (3, 8), of: "beta", heading(shards), keyspace: keyspace)
    #expect(
      all(keys)
        == wanted.map { keyspace.followerShard(streamer: "beta", generation: 2, shard: $0) })
    #expect(keys.foreignShard?.index == 3 && keys.foreignShard?.count == 8)
    #expect(keys.headingKey == "ffd:{g:beta}")
  }

  @Test func afterTheEndNothingIsLeft() {
    var keys = keys()
    keys.end()
    #expect(keys.current == nil)
  }
}
