import APNsSimulator
import Devices
import FCMSimulator
import Kafka
import Keyspace
import MemoryKafka
import MemoryRedis
import Model
import Record
import Telemetry
import Text
import WebPushSimulator

/// Something that happens while events run.
struct ScenarioAction: Sendable {
  /// After the first event.
  let at: Duration
  let what: What

  enum What: Sendable {
    /// Apple behaves like this from now on; latency and streams are as they were.
    case apple(@Sendable (inout SimulatorScript) -> Void)
    /// FCM behaves like this from now on, and so do the push services of browsers.
    case fcm(@Sendable (inout FCMSimulatorScript) -> Void)
    case webpush(@Sendable (inout WebPushSimulatorScript) -> Void)
    /// What the ways to them are like; `service`: the index of one of `WorldWebPush.hosts`.
    case wayToFCM(@Sendable (inout MemoryNetwork.Path) -> Void)
    case wayToBrowsers(service: Int, @Sendable (inout MemoryNetwork.Path) -> Void)
    /// Open connections to them end.
    case cutFCM
    case cutBrowsers(service: Int)
    /// Apple behaves as in the beginning.
    case appleIsWell
    case appleRefusesConnections(Bool)
    case cutApple
    /// What the way to the sandbox is like.
    case sandbox(@Sendable (inout MemoryNetwork.Path) -> Void)
    /// Bytes of one connection to Apple come to nothing from now on.
    case silenceOneConnection
    /// And those of all that are open, though others can be opened.
    case silenceAllConnections

    case start(String)
    case stop(String)
    case kill(String)
    case freeze(String, Duration)

    case redisStops, redisStarts
    /// What Redis holds from now on is lost when it fails over.
    case redisReplicaFallsBehind
    case redisFailsOver
    case redisLoads(Bool)
    case redisIsFull(Bool)
    /// One way.
    case redisIsSlow(Duration)
    /// Another worker has claimed what workers have of an event.
    case claimsAreAnothers(String)
    /// Somebody writes a field of an event's hash by hand.
    case writes(String, field: String, String)
    /// Followers are divided again, into as many shards as they should have.
    case divide(Int)
    /// All these followers log out; or follow no longer.
    case logOut(Int)
    case unfollow(Int)
    /// The replies to so many calls of the script that settles a segment.
    case redisLosesReplies(Int)

    case kafkaIsAway(Bool)
    /// So many of the next requests fail; and none that was to.
    case kafkaFails(
      MemoryRequest, MemoryFailure, times: Int, topic: String? = nil, host: String? = nil)
    case kafkaFailsNoMore
    /// As one whose sequence numbers the broker has lost.
    case producerFails(String)
    /// A record that is no event, in the partition of these followers' streamer.
    case nonsense(Int)
    case rebalance
    /// The group puts a worker out, who hears of it later.
    case evict(String)
    /// A topic is deleted, and made again.
    case topic(String, isThere: Bool)

    /// What a worker says of itself is noted under a name.
    case look(String, at: String)
    /// The clock of Redis' machine is so far ahead of all others.
    case redisClock(Duration)
    /// And that of a worker's.
    case clock(String, Duration)
    /// All that Redis holds of an event, or a part of that, is gone.
    case redisForgets(String, part: String)
    /// Records that the stragglers' topic, or another one, holds are gone or stand there twice.
    case kafkaThrowsAway(topic: Int)
    case kafkaRepeats(topic: Int)

    /// A worker that starts then reads every record again.
    case rewind
    /// A key of followers holds something else; and is what it was.
    case breakShard(Int, shard: Int)
    case mendShard(Int, shard: Int)
    case breakHeading(Int)
    case mendHeading(Int)
    /// What is in the dead letters is sent in again.
    case replay

    case halt(Halt?, String)
    /// The backend says that the stream of these followers' streamer has ended.
    case streamEnds(Int)
    /// And that it had so many seconds ago.
    case streamEnded(Int, ago: Int)
  }

  /// From the beginning a topic takes no record, until `kafkaFailsNoMore`.
  static func writesFail(_ topic: String, _ failure: MemoryFailure) -> ScenarioAction {
    .at(
      .zero, .kafkaFails(.produce, failure, times: 1_000, topic: "notify-followers.\(topic)"))
  }

  static func at(_ time: Duration, _ what: What) -> ScenarioAction {
    ScenarioAction(at: time, what: what)
  }
}

extension [ScenarioAction] {
  /// Apple's connections end, and it lets nobody in until it is well again.
  static func unreachable(from begin: Duration, to end: Duration) -> Self {
    [
      .at(begin, .appleRefusesConnections(true)), .at(begin, .cutApple),
      .at(end, .appleRefusesConnections(false)),
    ]
  }
}

extension ScenarioLife {
  func perform(_ what: ScenarioAction.What) throws {
    switch what {
    case .apple(let change):
      var script = self.script
      change(&script)
      replace(script)
    case .appleIsWell: replace(script)
    case .appleRefusesConnections(let refuses):
      world.network.change(World.apple) { $0.isRefused = refuses }
    case .cutApple: world.network.cut(World.apple)
    case .sandbox(let change): world.network.change(World.sandbox, change)
    case .silenceOneConnection: world.network.silenceOne(to: World.apple)
    case .silenceAllConnections: world.network.silenceAll(to: World.apple)
    case .start(let name): try start(name)
    case .stop(let name): noteMemory(of: name) { $0.stop() }
    case .kill(let name): noteMemory(of: name) { $0.kill() }
    case .freeze(let name, let duration): worker(name)?.freeze(for: duration)
    case .kafkaIsAway(let isAway): world.broker.setAway(isAway)
    case .look(let look, let name): note(look, name)
    case .clock(let name, let ahead): worker(name)?.clockAhead = ahead.wholeMilliseconds
    case .rewind:
      let all = world.workTopics.flatMap { world.partitions(of: $0) }
      world.broker.setCommitted(
        Dictionary(uniqueKeysWithValues: all.map { ($0, 0) }), by: World.group)
    case .breakShard(let audience, let shard): breakShard(audience, shard)
    case .mendShard(let audience, let shard): mendShard(audience, shard)
    case .breakHeading(let audience):
      _ = world.ask("HSET", world.keyspace.followers(of: "s\(audience)"), "shards", "many")
    case .mendHeading(let audience):
      _ = world.ask("HSET", world.keyspace.followers(of: "s\(audience)"), "shards", "1")
    case .replay: replay()
    case .kafkaThrowsAway(let topic):
      for partition in world.partitions(of: world.workTopics[topic]) {
        world.broker.deleteRecords(of: partition, before: world.broker.end(of: partition) ?? 0)
      }
    case .kafkaRepeats(let topic):
      for partition in world.partitions(of: world.workTopics[topic]) {
        for (_, record) in world.broker.records(of: partition) {
          world.broker.append(record, to: partition)
        }
      }
    case .kafkaFails(let request, let failure, let times, let topic, let host):
      world.broker.fail(
        next: request, with: Array(repeating: failure, count: times), host: host,
        topic: topic)
    case .producerFails(let name):
      worker(name)?.host.failProducers()
    case .kafkaFailsNoMore: world.broker.endFaults()
    case .nonsense(let number): world.append("no event", key: "s\(number)")
    case .rebalance: world.broker.rebalance(group: "fanfare")
    case .evict(let name): world.broker.evict(host: name, from: World.group)
    case .topic(let name, let isThere):
      let topic = "notify-followers.\(name)"
      if isThere {
        world.broker.create(topic: topic, partitions: 4)
      } else {
        world.broker.delete(topic: topic)
      }
    case .halt(let halt, let event): setHalt(halt, of: event)
    case .streamEnds(let number): endStream(of: "s\(number)")
    case .streamEnded(let number, let ago): endStream(of: "s\(number)", ago: ago)
    default: performOnServices(what)
    }
  }

  private func key(_ audience: Int, _ shard: Int) -> String {
    world.keyspace.followerShard(streamer: "s\(audience)", generation: 1, shard: shard)
  }

  private func breakShard(_ audience: Int, _ shard: Int) {
    _ = world.ask("DEL", key(audience, shard))
    _ = world.ask("SET", key(audience, shard), "no set")
  }

  private func mendShard(_ number: Int, _ shard: Int) {
    guard let audience = scenario.setUp.audiences.first(where: { $0.number == number }) else {
      return
    }
    _ = world.ask("DEL", key(number, shard))
    for user in (0..<audience.followers).map({ "s\(number)-u\($0)" })
    where Keyspace.shard(of: user, shards: audience.shards ?? 1) == shard {
      _ = world.ask("SADD", key(number, shard), user)
    }
  }

  /// As an operator does who has mended what was wrong.
  private func replay() {
    for partition in world.partitions(of: world.ingest.deadLettersTopic) {
      for (_, letter) in world.broker.records(of: partition) {
        let source = letter.headers.first { $0.name == "fanfare-source" }?.value ?? []
        let topic = source.prefix { $0 != UInt8(ascii: "/") }
        let place = KafkaPartition(topic: String(decoding: topic, as: UTF8.self), partition: 0)
        world.broker.append(letter, to: place)
      }
    }
  }

  private func performOnServices(_ what: ScenarioAction.What) {
    switch what {
    case .fcm(let change): replaceOthers(fcm: change)
    case .webpush(let change): replaceOthers(webpush: change)
    case .wayToFCM(let change): world.network.change(WorldFCM.endpoint, change)
    case .wayToBrowsers(let service, let change):
      world.network.change(WorldWebPush.endpoints[service], change)
    case .cutFCM: world.network.cut(WorldFCM.endpoint)
    case .cutBrowsers(let service): world.network.cut(WorldWebPush.endpoints[service])
    default: performOnRedis(what)
    }
  }

  private func performOnRedis(_ what: ScenarioAction.What) {
    let server = world.redis.server
    switch what {
    case .redisStops: world.redis.stop()
    case .redisStarts: world.redis.start()
    case .redisClock(let ahead): world.redisAhead = ahead.wholeMilliseconds
    case .redisForgets(let event, let part):
      _ = world.ask("DEL", world.keyspace.event(id: event) + part)
    case .redisReplicaFallsBehind: image = server.store.image
    case .redisFailsOver:
      server.restart(from: image ?? server.store.image, seed: world.scheduler.numbers.next())
      world.network.cut(world.redis.endpoint)
    case .redisLoads(let loads): server.isLoading = loads
    case .redisIsFull(let isFull): server.isOutOfMemory = isFull
    case .redisIsSlow(let delay):
      world.network.change(world.redis.endpoint) { $0.delay = delay...delay }
    case .claimsAreAnothers(let event): takeClaims(of: event)
    case .writes(let event, let field, let value):
      _ = world.ask("HSET", world.keyspace.event(id: event), field, value)
    case .divide(let number): divide(number)
    case .logOut(let number):
      let followers = scenario.setUp.audiences.first { $0.number == number }?.followers ?? 0
      for user in 0..<followers {
        _ = world.ask("DEL", world.keyspace.bindings(user: "s\(number)-u\(user)"))
      }
    case .unfollow(let number):
      for key in world.keys() where key.hasPrefix("ffd:{f:s\(number):") {
        _ = world.ask("DEL", key)
      }
    case .redisLosesReplies(let count):
      var left = count
      server.losesReply = { _, reply in
        guard left > 0, Self.isSettlement(reply) else { return false }
        left -= 1
        return true
      }
    default: preconditionFailure("\(what) is not for Redis")
    }
  }

  private func divide(_ number: Int) {
    world.perform { _, world in
      try await world.withRedis { client in
        _ = try await AudienceSharding(redis: client, keyspace: world.keyspace)
          .run(streamer: "s\(number)", from: .current)
      }
    }
  }

  private func takeClaims(of event: String) {
    let (claims, end) = (world.keyspace.claims(id: event), world.wallClock() + 250_000)
    for segment in world.hash(claims).keys.sorted() {
      _ = world.ask("HSET", claims, segment, "worker-9/x/0.1 \(end)")
    }
  }

  private func endStream(of streamer: String, ago: Int = 0) {
    let now = world.wallClock() - Int64(ago) * 1_000
    let document = """
      {"type":"stream.ended","streamer":{"id":"\(streamer)"},"stream":{"id":"b1"},\
      "occurred_at":"\(WallClock.rfc3339(now))"}
      """
    world.append(document, key: streamer)
  }

  private func setHalt(_ halt: Halt?, of event: String) {
    let now = world.wallClock()
    world.perform { _, world in
      try await world.withRedis { client in
        try await RecordStage(redis: client, keyspace: world.keyspace)
          .setHalt(halt, of: event, reason: "scenario", now: now)
      }
    }
  }

  /// What the script that settles a segment answers.
  static func isSettlement(_ reply: StoreReply) -> Bool {
    guard case .array(let parts) = reply, case .bulk("recorded")? = parts.first else {
      return false
    }
    return true
  }
}
