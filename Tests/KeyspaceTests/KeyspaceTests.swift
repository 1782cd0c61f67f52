import Testing

@testable import Keyspace

@Suite struct KeyspaceTests {
  let keys = Keyspace()

  @Test func namesAreThoseOfTheContract() {
    #expect(keys.followers(of: "s42") == "ffd:{f:s42}")
    #expect(keys.followerShard(streamer: "s42", generation: 3, shard: 17) == "ffd:{f:s42:3:17}")
    #expect(keys.bindings(user: "u1") == "ffd:{u:u1}:bindings")
    #expect(keys.bound(user: "u1") == "ffd:{u:u1}:bound")
    #expect(keys.quarantined(user: "u1") == "ffd:{u:u1}:quarantined")
    #expect(keys.verdicts(user: "u1") == "ffd:{u:u1}:verdicts")
    #expect(keys.profile(user: "u1") == "ffd:{u:u1}:profile")
    #expect(keys.tokenOwner(token: "ab12") == "ffd:{t:ab12}")
    #expect(keys.event(id: "live-8f2c") == "ff:{e:live-8f2c}")
    #expect(keys.settled(id: "live-8f2c") == "ff:{e:live-8f2c}:settled")
    #expect(keys.receipts(id: "live-8f2c") == "ff:{e:live-8f2c}:receipts")
    #expect(keys.deadLetters(id: "live-8f2c") == "ff:{e:live-8f2c}:dead_letters")
    #expect(keys.sums(id: "live-8f2c") == "ff:{e:live-8f2c}:sums")
    #expect(keys.statsSums(event: "live-8f2c") == "ff:{stats}:sums:live-8f2c")
    #expect(keys.statsTotal == "ff:{stats}:total")
    #expect(keys.statsEvents == "ff:{stats}:events")
    #expect(keys.statsReceipt("a") == "ff:{stats}:receipt:a")
    #expect(keys.statsSeries == "ff:{stats}:series")
    #expect(keys.worker(id: "host-1") == "ff:worker:host-1")
    #expect(keys.letterMarks(milliseconds: 1_795_248_000_000) == "ff:{dlq}:20261121")
  }

  /// As Redis Cluster does it.
  @Test(arguments: [
    ("ff:{e:a}:settled", "e:a"), ("{a}{b}", "a"), ("a{}{b}", "a{}{b}"), ("a{b", "a{b"),
    ("}a{b}", "b"), ("{{a}}", "{a"), ("plain", "plain"), ("", ""),
  ])
  func aHashTagIsWhatIsInTheFirstBraces(key: String, tag: String) {
    #expect(Keyspace.hashTag(of: key) == tag)
  }

  @Test func whatIsDoneTogetherHasOneHashTag() {
    let event = [keys.event(id: "e1"), keys.settled(id: "e1"), keys.claims(id: "e1")]
    let others = [
      keys.stragglers(id: "e1"), keys.receipts(id: "e1"), keys.deadLetters(id: "e1"),
      keys.sums(id: "e1"), keys.limit(event: "e1"), keys.recovery(id: "e1"),
    ]
    #expect(Keyspace.haveOneHashTag(event + others))
    #expect(Keyspace.haveOneHashTag(keys.deviceKeys(user: "u1") + [keys.verdicts(user: "u1")]))
    let statistics = [
      keys.statsTotal, keys.statsDay(milliseconds: 0), keys.statsMinute(milliseconds: 0),
      keys.statsEvents, keys.statsFanOuts, keys.statsSums(event: "e1"), keys.statsReceipt("a"),
      keys.statsSeries,
    ]
    #expect(Keyspace.haveOneHashTag(statistics))
    for other in [
      keys.statsTotal, keys.streamer(id: "e1"), keys.tokenOwner(token: "e1"), keys.event(id: "e2"),
      keys.bindings(user: "e1"), keys.limit(app: "e1"),
    ] {
      #expect(!Keyspace.haveOneHashTag(event + [other]), "\(other)")
    }
  }

  @Test func prefixesAreConfigurable() {
    let keys = Keyspace(data: "x:", dashboards: "")
    #expect(keys.bindings(user: "u") == "x:{u:u}:bindings")
    #expect(keys.event(id: "e") == "{e:e}")
    #expect(String(decoding: keys.profileParts.prefix, as: UTF8.self) == "x:{u:")
    #expect(keys != self.keys)
  }

  @Test func partsAroundAUserMakeItsKeys() {
    let user = Array("ユーザ".utf8)
    let bindings = keys.bindingsParts.prefix + user + keys.bindingsParts.suffix
    let profile = keys.profileParts.prefix + user + keys.profileParts.suffix
    #expect(String(decoding: bindings, as: UTF8.self) == keys.bindings(user: "ユーザ"))
    #expect(String(decoding: profile, as: UTF8.self) == keys.profile(user: "ユーザ"))
  }

  @Test func whoseDevicesWereSetAsideIsReadFromTheKey() {
    for keys in [keys, Keyspace(data: "a*[b]?\\-", dashboards: ""), Keyspace(data: "")] {
      for user in ["u1", "ユーザ", "a:quarantined", "x"] {
        #expect(keys.user(ofQuarantined: keys.quarantined(user: user)) == user)
      }
      #expect(keys.user(ofQuarantined: keys.bound(user: "u1")) == nil)
      #expect(keys.user(ofQuarantined: "y" + keys.quarantined(user: "u1")) == nil)
      #expect(keys.user(ofQuarantined: keys.quarantined(user: "")) == nil)
    }
    #expect(keys.quarantinedPattern == "ffd:{u:*}:quarantined")
    #expect(Keyspace(data: "a*[b]?\\").quarantinedPattern.hasPrefix(#"a\*\[b\]\?\\{u:"#))
    #expect(
      keys.deviceKeys(user: "u") == ["bindings", "bound", "quarantined"].map { "ffd:{u:u}:\($0)" })
  }

  @Test func whatAKeyNamesIsReadFromIt() {
    for keys in [keys, Keyspace(data: "a*[b]?\\-", dashboards: ""), Keyspace(data: "")] {
      for streamer in ["s1", "ユーザ", "s:1", "1:2"] {
        #expect(keys.namingKey(keys.followers(of: streamer)) == .followers(streamer: streamer))
        let shard = keys.followerShard(streamer: streamer, generation: 12, shard: 3)
        #expect(keys.namingKey(shard) == .followerShard(streamer: streamer))
      }
      for token in ["aa", "x:one_2", "https://push:443/x"] {
        #expect(keys.namingKey(keys.tokenOwner(token: token)) == .tokenOwner(token: token))
        #expect(keys.namingKey(keys.tokenMoves(token: token)) == .tokenMoves(token: token))
      }
      let tags = keys.ofTags
      #expect(
        tags != keys && tags.ofTags == tags && tags.profile(user: "u") == keys.profile(user: "u"))
      #expect(keys.namingKey(tags.followers(of: "beta")) == .tag("beta"))
      let shard = tags.followerShard(streamer: "beta", generation: 3, shard: 7)
      #expect(keys.namingKey(shard) == .tagShard(tag: "beta"))
      #expect(keys.namingKey(keys.trace(event: "e:}:trace", part: 7)) == .trace)
      #expect(keys.namingKey(keys.document(event: "e1")) == nil)
      for other in [
        keys.bindings(user: "u1"), keys.event(id: "e"), keys.tokenOwner(token: "x y"),
        keys.followers(of: "a\nb"), keys.followers(of: ""), "y" + keys.followers(of: "s1"),
      ] { #expect(keys.namingKey(other) == nil, "\(other)") }
    }
    #expect(keys.namingPattern == "ffd:{[efgt]:*")
    #expect(
      keys.forgottenKeys(user: "u") == keys.deviceKeys(user: "u")
        + ["profile", "reached", "verdicts", "undated"].map { "ffd:{u:u}:\($0)" })
  }

  @Test(
    arguments: [
      (0, "19700101", "0000"), (1_795_248_059_999, "20261121", "0800"),
      (951_782_400_000, "20000229", "0000"), (951_868_799_999, "20000229", "2359"),
      (4_107_542_400_000, "21000301", "0000"), (-1, "19691231", "2359"),
      (1_735_689_599_999, "20241231", "2359"), (1_735_689_600_000, "20250101", "0000"),
    ] as [(Int64, String, String)])
  func countersOfTimeCarryUTC(milliseconds: Int64, day: String, minute: String) {
    #expect(keys.statsDay(milliseconds: milliseconds) == "ff:{stats}:day:\(day)")
    #expect(keys.statsMinute(milliseconds: milliseconds) == "ff:{stats}:minute:\(day)\(minute)")
  }

  @Test func theEndsOfTimeDoNotTrap() {
    #expect(!keys.statsMinute(milliseconds: .max).isEmpty)
    #expect(!keys.statsMinute(milliseconds: .min).isEmpty)
  }

  @Test func lifetimes() {
    #expect(Keyspace.eventLifetimeSeconds == 604_800)
    #expect(Keyspace.dayLifetimeSeconds == 34_560_000)
    #expect(Keyspace.minuteLifetimeSeconds == 172_800)
    #expect(Keyspace.workerLifetimeSeconds == 60)
    #expect(Keyspace.statsSeriesMaximumEntries == 60_480)
  }
}

@Suite struct IdentifierTests {
  @Test(arguments: [
    "a", "user-1", "urn:user:5", "ユーザ", "a b", "👩‍👩‍👧", String(repeating: "x", count: 128),
  ])
  func accepted(_ id: String) { #expect(Keyspace.isIdentifier(id)) }

  @Test(arguments: [
    "", "a{b", "a}b", "a\nb", "a\u{0}", "\u{7F}", "\u{85}", String(repeating: "x", count: 129),
  ])
  func refused(_ id: String) { #expect(!Keyspace.isIdentifier(id)) }

  @Test(
    arguments: [[0xFF], [0xC0, 0x80], [0x61, 0xE3, 0x83], [0xED, 0xA0, 0x80], [0xC2, 0x85]]
      as [[UInt8]])
  func bytesThatAreNoTextAreRefused(_ bytes: [UInt8]) {
    #expect(!bytes.withUnsafeBytes { Keyspace.isIdentifier($0) })
  }

  @Test func aStreamerMayNotLookLikeAShardOfAnother() {
    let keys = Keyspace()
    #expect(
      keys.followers(of: "a:1:2") == keys.followerShard(streamer: "a", generation: 1, shard: 2))
    #expect(!Keyspace.isStreamerIdentifier("a:1:2"))
    #expect(!Keyspace.isStreamerIdentifier(":1:2"))
    for id in ["a", "a:1", "1:2", "a:1:b", "a:b:1", "a:1:", "a::1", "urn:user:x1"] {
      #expect(Keyspace.isStreamerIdentifier(id), "\(id)")
    }
    #expect(!Keyspace.isStreamerIdentifier(""))
  }
}

@Suite struct ShardingTests {
  @Test func checksumIsTheStandardOne() {
    func checksum(_ text: String) -> UInt32 {
      Array(text.utf8).withUnsafeBytes { CRC32.checksum($0) }
    }
    #expect(checksum("123456789") == 0xCBF4_3926)
    #expect(checksum("") == 0)
    #expect(checksum("a") == 0xE8B7_BE43)
  }

  @Test func shardIsTheChecksumModuloTheShards() {
    #expect(Keyspace.shard(of: "123456789", shards: 64) == 0xCBF4_3926 % 64)
    #expect(Keyspace.shard(of: "123456789", shards: 1) == 0)
    #expect(Keyspace.shard(of: "123456789", shards: 0) == 0)
    #expect(Keyspace.shard(of: "123456789", shards: -8) == 0)
  }

  @Test func usersSpreadEvenly() {
    var counts = [Int](repeating: 0, count: 64)
    for user in 0..<64_000 { counts[Keyspace.shard(of: "user-\(user)", shards: 64)] += 1 }
    #expect(counts.allSatisfy { $0 > 800 && $0 < 1_200 })
  }

  @Test(arguments: [(0, 1), (1, 1), (2_048, 1), (2_049, 2), (4_096, 2), (4_097, 4), (100_000, 64)])
  func recommendedShards(followers: Int, shards: Int) {
    #expect(Keyspace.recommendedShards(followers: followers) == shards)
  }
}
