import APNsSimulator
import MemoryRedis
import Model
import Record
import Telemetry

/// Something that happens while events run.
struct ScenarioAction: Sendable {
  /// After the first event.
  let at: Duration
  let what: What

  enum What: Sendable {
    /// Apple behaves like this from now on; latency and streams are as they were.
    case apple(@Sendable (inout SimulatorScript) -> Void)
    /// Apple behaves as in the beginning.
    case appleIsWell
    case appleRefusesConnections(Bool)
    case cutApple
    /// What the way to the sandbox is like.
    case sandbox(@Sendable (inout MemoryNetwork.Path) -> Void)
    /// Bytes of one connection to Apple come to nothing from now on.
    case silenceOneConnection

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
    /// The replies to so many calls of the script that settles a segment.
    case redisLosesReplies(Int)

    case kafkaIsAway(Bool)
    case rebalance

    case brake(Brake?, String)
    /// The backend says that the stream of these followers' streamer has ended.
    case streamEnds(Int)
  }

  static func at(_ time: Duration, _ what: What) -> ScenarioAction {
    ScenarioAction(at: time, what: what)
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
    case .start(let name): try start(name)
    case .stop(let name): noteMemory(of: name) { $0.stop() }
    case .kill(let name): noteMemory(of: name) { $0.kill() }
    case .freeze(let name, let duration): worker(name)?.freeze(for: duration)
    case .kafkaIsAway(let isAway): world.broker.setAway(isAway)
    case .rebalance: world.broker.rebalance(group: "fanfare")
    case .brake(let brake, let event): setBrake(brake, of: event)
    case .streamEnds(let number): endStream(of: "s\(number)")
    default: performOnRedis(what)
    }
  }

  private func performOnRedis(_ what: ScenarioAction.What) {
    let server = world.redis.server
    switch what {
    case .redisStops: world.redis.stop()
    case .redisStarts: world.redis.start()
    case .redisReplicaFallsBehind: image = server.store.image
    case .redisFailsOver:
      server.restart(from: image ?? server.store.image, seed: world.scheduler.numbers.next())
      world.network.cut(world.redis.endpoint)
    case .redisLoads(let loads): server.isLoading = loads
    case .redisIsFull(let isFull): server.isOutOfMemory = isFull
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

  private func endStream(of streamer: String) {
    let document = """
      {"type":"stream.ended","streamer":{"id":"\(streamer)"},"stream":{"id":"b1"},\
      "occurred_at":"\(WallClock.rfc3339(world.wallClock()))"}
      """
    world.append(document, key: streamer)
  }

  private func setBrake(_ brake: Brake?, of event: String) {
    let now = world.wallClock()
    world.perform { _, world in
      try await world.withRedis { client in
        try await RecordStage(redis: client, keyspace: world.keyspace)
          .setBrake(brake, of: event, reason: "scenario", now: now)
      }
    }
  }

  /// What the script that settles a segment answers.
  private static func isSettlement(_ reply: StoreReply) -> Bool {
    guard case .array(let parts) = reply, case .bulk("recorded")? = parts.first else {
      return false
    }
    return true
  }
}
