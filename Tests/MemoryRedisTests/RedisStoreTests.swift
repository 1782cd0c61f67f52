import Testing

@testable import MemoryRedis

@Suite struct RedisStoreTests {
  private let store = RedisStore()
  private static let now: Int64 = 1_795_726_985_000_000

  @discardableResult
  private func ask(_ text: String, after microseconds: Int64 = 0) -> StoreReply {
    store.execute(
      text.split(separator: " ").map { ByteString(String($0)) }, now: Self.now + microseconds)
  }

  @Test func setsKeepTheOrderOfInsertion() {
    ask("SADD s c a b")
    ask("SREM s a")
    ask("SADD s a d")
    #expect(ask("SMEMBERS s") == .strings(["c", "b", "a", "d"]))
    #expect(ask("SRANDMEMBER s 2") == .strings(["c", "b"]))
    #expect(ask("SRANDMEMBER s -5") == .strings(["c", "b", "a", "d", "c"]))
  }

  @Test func keysGoWhenTheyHaveEnded() {
    ask("SET k v PX 10")
    #expect(ask("PTTL k", after: 9_999) == .integer(1))
    #expect(ask("GET k", after: 10_999) == .bulk("v"))
    _ = store.takeEffects()
    #expect(ask("GET k", after: 11_000) == .null)
    #expect(store.takeEffects() == [["DEL", "k"]])
    #expect(ask("GET k") == .null)
  }

  @Test func dbsizeCountsNoKeyThatHasEnded() {
    ask("SET a 1 EX 1")
    ask("SET b 1")
    #expect(ask("DBSIZE") == .integer(2))
    #expect(ask("DBSIZE", after: 2_000_000) == .integer(1))
    #expect(ask("KEYS *", after: 2_000_000) == .strings(["b"]))
  }

  /// Whatever comes and goes meanwhile.
  @Test(arguments: 1...20) func scansFindWhatIsThereAllTheTime(seed: UInt64) throws {
    var dice = Dice(seed: seed)
    let stays = (0..<100).map { "stays\($0)" }
    for name in stays { ask("SADD s \(name) goes\(name)") }
    var found: Set<ByteString> = []
    var cursor: ByteString = "0"
    var pages = 0
    repeat {
      let reply = ask("SSCAN s \(cursor.text) COUNT 7")
      guard case .array(let parts) = reply, case .bulk(let next) = parts[0],
        case .array(let members) = parts[1]
      else {
        Issue.record("\(reply)")
        return
      }
      for case .bulk(let member) in members { found.insert(member) }
      cursor = next
      pages += 1
      for _ in 0..<10 {
        ask("SREM s goes\(dice.pick(stays))")
        if pages < 20 { ask("SADD s new\(dice.roll(1_000))") }
      }
    } while cursor != "0"
    #expect(stays.allSatisfy { found.contains(ByteString($0)) })
  }

  @Test func imagesAreOfTheirMoment() {
    ask("HSET h a 1")
    let image = store.image
    ask("HSET h a 2")
    ask("SADD s x")
    store.image = image
    #expect(ask("HGET h a") == .bulk("1"))
    #expect(ask("EXISTS s") == .integer(0))
  }

  /// What a replica does for a master's writes gives the same data, also for what depends on the
  /// clock, on a script or on what was there.
  @Test(arguments: 1...4) func replicasHaveWhatTheirMasterHas(seed: UInt64) {
    let replica = RedisStore()
    replica.isReplica = true
    for source in RandomSteps.sources {
      _ = store.execute(["SCRIPT", "LOAD", source], now: Differential.start)
    }
    var random = RandomSteps(seed: seed)
    for _ in 0..<5_000 {
      let step = random.next()
      if case .setOutOfMemory(let isFull) = step.action { store.isOutOfMemory = isFull }
      guard let command = step.command else { continue }
      _ = store.execute(command, now: step.time)
      // A replica's clock may be another.
      replica.apply(store.takeEffects(), now: step.time + 5_000_000)
    }
    #expect(store.keys.count > 20)
    #expect(Self.contents(of: store) == Self.contents(of: replica))
  }

  /// What is frozen stays as it was, and whoever goes on from there answers as if it were not.
  @Test(arguments: 5...8) func frozenDataAreSharedAndStayAsTheyAre(seed: UInt64) {
    let frozen = RedisStore()
    var random = RandomSteps(seed: seed)
    func goOn(_ count: Int) -> Int {
      (0..<count).count { _ in
        let step = random.next()
        guard let command = step.command else { return false }
        return store.execute(command, now: step.time) != frozen.execute(command, now: step.time)
      }
    }
    #expect(goOn(3_000) == 0)
    frozen.freeze()
    let (before, image) = (Self.contents(of: frozen), frozen.image)
    #expect(goOn(6_000) == 0)
    #expect(store.keys.count > 20 && store.keys.count == frozen.keys.count)
    #expect(store.names == frozen.names && Self.contents(of: store) == Self.contents(of: frozen))
    #expect(Self.contents(of: frozen) != before)
    frozen.image = image
    #expect(Self.contents(of: frozen) == before)
  }

  private static func contents(of store: RedisStore) -> [String] {
    store.keys.all.map { key, entry in
      let value =
        switch entry.value {
        case .string(let text): "\(text.bytes)"
        case .hash(let hash): "\(hash.all.map { ($0.field.bytes, $0.value.bytes) })"
        case .set(let set): "\(set.keys().map(\.bytes))"
        case .sortedSet(let set): "\(set.elements.map { ($0.score, $0.member.bytes) })"
        case .stream(let stream):
          "\(stream.entries.map { ($0.identifier, $0.fields.map(\.bytes)) })"
        case .none: "?"
        }
      return "\(key.text) \(entry.expiresAt ?? -1) \(value)"
    }.sorted()
  }

  @Test func randomNumbersAreRefused() {
    let reply = store.execute(["EVAL", "return math.random()", "0"], now: Self.now)
    guard case .error(let text) = reply else {
      Issue.record("\(reply)")
      return
    }
    #expect(text.text.contains("math.random is not available"))
  }

  /// FIPS 180-4's examples.
  @Test func digestsAreSHA1() {
    #expect(SHA1.hexadecimal([]) == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
    #expect(SHA1.hexadecimal(Array("abc".utf8)) == "a9993e364706816aba3e25717850c26c9cd0d89d")
    let million = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
    #expect(SHA1.hexadecimal(million) == "34aa973cd4c4daa4f61eeb2bdbad27316534016f")
  }
}
