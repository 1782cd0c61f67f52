import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Expand

@Suite struct SegmentReaderTests {
  private static let users = (0..<1_000).map { "user-\($0)" }

  @Test func everyUserOfAShardComesOnceInPagesOfTheAskedSize() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.populate(Self.users, shards: 2)
      var all: [String] = []
      for index in 0..<2 {
        let (reading, restarts) = try await redis.read(
          shard(index, of: 2), options: ExpandOptions(pageSize: 100))
        #expect(restarts == 0 && reading.skipped == 0)
        // About as many each: none is short.
        #expect(reading.pageSizes.count == reading.users.count / 100)
        #expect(reading.pageSizes.allSatisfy { (100...125).contains($0) })
        #expect(reading.users.allSatisfy { reading.tokens[$0] == [token($0)] })
        all += reading.users
      }
      #expect(all.sorted() == Self.users.sorted())
      // Shards that nobody fell into.
      try await redis.heading(4096, generation: 2)
      let empty = try await redis.read(shard(7, of: 4096, generation: 2))
      #expect(empty.reading == Reading() && empty.restarts == 0)
    }
  }

  /// A list of stragglers names pushes; a user with two of them is read once.
  @Test func theUsersOfStragglersComeOnce() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.equip(["ann", "bob"])
      try await redis.commands([["SADD", keyspace.bindings(user: "ann"), member("aabb")]])
      let pushes = [("ann", token("ann")), ("bob", token("bob")), ("ann", "aabb"), ("gone", "cc")]
        .map { Straggler(user: $0, member: member($1), history: PushHistory()) }
      let list = StragglerList(id: "1.0~01", parent: "1.0", pushes: pushes)
      let segment = Segment(event: event(), slice: .stragglers(list), count: 2)
      let (reading, restarts) = try await redis.read(segment)
      #expect(reading.users == ["ann", "bob"] && reading.followers == 3 && restarts == 0)
      #expect(reading.tokens["ann"]?.sorted() == [token("ann"), "aabb"].sorted())
      #expect(reading.tokens["bob"] == [token("bob")])
    }
  }

  @Test func aPlainSetIsScannedToItsEnd() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.commands([["SADD", "followers:s1"] + Self.users])
      try await redis.equip(Self.users)
      let (reading, restarts) = try await redis.read(
        plain("followers:s1"), options: ExpandOptions(pageSize: 64))
      #expect(restarts == 0)
      #expect(Set(reading.users) == Set(Self.users))
      #expect(reading.pageSizes.allSatisfy { $0 <= 128 })
      // A small set is one reply, however many were asked for: it is split.
      try await redis.commands([
        ["SADD", "small"] + (1...500).map { "\($0)" }
      ])
      let small = try await redis.read(plain("small"), options: ExpandOptions(pageSize: 100))
      #expect(small.reading.pageSizes == [100, 100, 100, 100, 100])
      #expect(try await redis.read(plain("nobody")).reading == Reading())
    }
  }

  @Test func aShardThatOutgrewItsSizeIsScanned() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.populate(Self.users)
      let (reading, _) = try await redis.read(
        shard(0, of: 1), options: ExpandOptions(pageSize: 50, maximumShardMembers: 500))
      #expect(Set(reading.users) == Set(Self.users))
      #expect(reading.pageSizes.count > 5)
    }
  }

  @Test(arguments: [(4, 16), (4, 1), (4, 4), (1, 8)])
  func reshardedFollowersAreFoundInTheNewGeneration(before: Int, after: Int) async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.populate(Self.users, shards: after, generation: 2)
      var all: [String] = []
      for index in 0..<before {
        let (reading, restarts) = try await redis.read(shard(index, of: before))
        #expect(restarts == 1)
        #expect(
          reading.users.allSatisfy { Keyspace.shard(of: $0, shards: before) == index })
        all += reading.users
      }
      #expect(all.sorted() == Self.users.sorted())
    }
  }

  @Test func reshardingUnderAScanBeginsAgainAndLosesNobody() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.populate(Self.users)
      let options = ExpandOptions(pageSize: 50, maximumShardMembers: 100)
      let (reading, restarts) = try await redis.read(shard(0, of: 1), options: options) { reading in
        guard reading.pageSizes.count == 3 else { return }
        try await redis.place(Self.users, shards: 4, generation: 2)
        try await redis.heading(4, generation: 2)
        try await redis.commands([["UNLINK", "ffd:{f:s1:1:0}"]])
      }
      #expect(restarts == 1)
      #expect(reading.users.sorted() == Self.users.sorted())
      #expect(reading.followers == Self.users.count)
    }
  }

  @Test func aRestartUnderAScanBeginsAgainAndLosesAndRepeatsNobody() async throws {
    let fixture = try RedisFixture(isDurable: true)
    try await fixture.run { redis async throws in
      // What is no user id is counted once as well.
      try await redis.commands([["SADD", "followers:s1", "a{b}", "c{d}"] + Self.users])
      try await redis.equip(Self.users)
      let options = ExpandOptions(pageSize: 50)
      let (reading, restarts) = try await redis.read(plain("followers:s1"), options: options) {
        reading in
        guard reading.pageSizes.count == 5 else { return }
        fixture.server.kill()
        try fixture.server.start()
      }
      #expect(restarts == 1)
      #expect(reading.users.sorted() == Self.users.sorted())
      #expect(reading.followers == Self.users.count && reading.skipped == 2)
    }
  }

  @Test func beyondWhatIsRememberedSomeComeTwiceAndNobodyIsLost() async throws {
    let fixture = try RedisFixture(isDurable: true)
    try await fixture.run { redis async throws in
      try await redis.commands([["SADD", "followers:s1"] + Self.users])
      try await redis.equip(Self.users)
      let options = ExpandOptions(pageSize: 50, maximumRememberedUsers: 100)
      let (reading, restarts) = try await redis.read(plain("followers:s1"), options: options) {
        reading in
        guard reading.pageSizes.count == 10 else { return }
        fixture.server.kill()
        try fixture.server.start()
      }
      #expect(restarts == 1)
      #expect(Set(reading.users) == Set(Self.users))
      #expect(reading.users.count > Self.users.count)
    }
  }

  @Test func anOutageLosesAndRepeatsNobody() async throws {
    let fixture = try RedisFixture(isDurable: true)
    try await fixture.run(commandTimeout: .seconds(2)) { redis async throws in
      try await redis.populate(Self.users)
      let stage = ExpandStage(
        redis: redis, keyspace: keyspace, options: ExpandOptions(pageSize: 100))
      let reader = stage.reader(
        of: stage.users(of: shard(0, of: 1)), fields: ["name"], topic: app)
      var reading = Reading()
      var outages = 0
      while true {
        do {
          guard let page = try await reader.next() else { break }
          reading.add(page)
          if reading.pageSizes.count == 2 || reading.pageSizes.count == 5 { fixture.server.kill() }
        } catch let error as ExpandError {
          #expect(error.isTransient, "\(error)")
          outages += 1
          try #require(outages < 10)
          try fixture.server.start()
        }
      }
      #expect(outages >= 2)
      #expect(reading.users.count == 1_000 && Set(reading.users) == Set(Self.users))
      #expect(reader.restarts == 0)
    }
  }

  @Test func aLoadingOrBusyServerIsWaitedFor() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.populate(["u1"])
      let stage = ExpandStage(redis: redis, keyspace: keyspace)
      let reader = stage.reader(of: stage.users(of: shard(0, of: 1)), fields: [], topic: app)
      // Neither a value nor another type: nothing of the page may count as skipped.
      try await redis.commands([["ACL", "SETUSER", "default", "resetkeys", "~ffd:{f:*"]])
      let error = await failure { _ = try await reader.next() }
      #expect(error?.code == .redis(.notPermitted) && error?.isTransient == true)
      try await redis.commands([["ACL", "SETUSER", "default", "allkeys"]])
      let page = try #require(try await reader.next())
      #expect(page.recipients.count == 1 && page.skipped == 0)
    }
  }

  @Test func anotherTypeAtAShardIsAnErrorThatNamesTheKey() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.heading(1, generation: 1)
      try await redis.commands([["SET", "ffd:{f:s1:1:0}", "x"], ["SET", "followers:s1", "x"]])
      for segment in [shard(0, of: 1), plain("followers:s1")] {
        let error = await failure { _ = try await redis.read(segment) }
        #expect(error?.code == .redis(.wrongType) && error?.isTransient == false)
      }
    }
  }
}
