import APNsSimulator
import Deliver
import Model
import Pipeline
import Record
import Telemetry
import TestBed
import Testing
import Transport

/// A sandbox that takes some pushes a second, beside a production that takes them all. Nothing here
/// is judged by a clock: what counts is how little the sandbox has taken when production is done.
@Suite(.serialized) struct SlowEnvironmentTests {
  private let bed: WorkerBed
  private let sandbox: APNsSimulator
  private let address: APNsSimulatorAddress

  init() async throws {
    bed = try await WorkerBed()
    // Its key is production's.
    var options = APNsSimulatorOptions(directory: bed.directory.path)
    options.topics = [WorkerBed.app]
    options.isDevelopment = true
    options.firstStreams = 5
    options.streams = 5
    options.script.latency = .seconds(1)
    sandbox = APNsSimulator(options: options) { _ in }
    address = try await sandbox.start()
  }

  private func startWorker(retryAfter delay: Duration? = nil) async throws -> Worker {
    let sandbox = Endpoint(host: address.host, port: address.port)
    let worker = try await bed.startWorker { options in
      options.deliver.routes[.sandbox] = options.deliver.routes[.production].map {
        APNsRoute(endpoint: sandbox, tls: $0.tls)
      }
      if let delay { options.deliver.retry = RetryPolicy(initial: delay, maximum: delay) }
      options.straggleAfter = .milliseconds(500)
      options.straggleDelay = .milliseconds(500)
    }
    try await bed.ready()
    return worker
  }

  /// Of each segment every tenth device is of the sandbox.
  @Test func costsTheProductionDevicesOfTheSameAudienceLittle() async throws {
    let (shards, perShard) = (64, 100)
    for environment in [APNsEnvironment.production, .sandbox] {
      try await bed.followInShards(
        "s1", shards: shards, perShard: perShard, environment: environment
      ) { shard, index in
        (index % 10 == 0) == (environment == .sandbox) ? paddedHex(shard << 16 | index) : nil
      }
    }
    let worker = try await startWorker()
    try await bed.emit("e1")
    let simulator = bed.simulator
    _ = try await bed.until("production has all of its pushes") {
      await simulator.summary().tokensAccepted == shards * perShard / 10 * 9 ? true : nil
    }
    #expect(await sandbox.summary().accepted < shards * perShard / 10 / 2)
    // What has left its segment comes back and is sent, once.
    await sandbox.replaceScript(SimulatorScript())
    let status = try await bed.finished("e1")
    #expect(status.isBalanced && status.accepted == shards * perShard)
    #expect(await sandbox.summary().duplicates == 0)
    // It is not written to Kafka over and over.
    #expect(status.stragglers > 0 && status.stragglers <= 2 * shards)
    #expect(await simulator.summary().duplicates == 0)
    #expect(await worker.stop())
  }

  /// More segments of the sandbox alone than there are places, and behind them one that could go.
  @Test func leavesPlacesToSegmentsThatNeedNotWait() async throws {
    try await bed.followInShards(
      "slow", shards: 32, perShard: 200, environment: .sandbox
    ) { shard, index in paddedHex(1 << 40 | shard << 16 | index) }
    try await bed.followInShards("good", shards: 32, perShard: 50) { shard, index in
      paddedHex(2 << 40 | shard << 16 | index)
    }
    let worker = try await startWorker()
    try await bed.emit("slow", streamer: "slow")
    _ = try await bed.until("the sandbox is busy") {
      await sandbox.summary().accepted >= 20 ? true : nil
    }
    try await bed.emit("good", streamer: "good")
    let good = try await bed.finished("good")
    #expect(good.accepted == 32 * 50 && good.isBalanced && good.stragglers == 0)
    #expect(await sandbox.summary().accepted < 32 * 200 / 4)
    await sandbox.replaceScript(SimulatorScript())
    let slow = try await bed.finished("slow")
    #expect(slow.isBalanced && slow.accepted == 32 * 200)
    #expect(await sandbox.summary().duplicates == 0)
    #expect(await worker.stop())
  }

  private static let lists = 300
  private static let perList = 20

  /// Lists of stragglers of the sandbox, as segments left them.
  private func emitSlowLists() async throws {
    try await bed.followInShards(
      "slow", shards: 1, perShard: Self.lists * Self.perList, environment: .sandbox
    ) { _, index in paddedHex(1 << 40 | index) }
    let names = (0..<Self.lists).map { "1.0~\(paddedHex($0).suffix(16))" }
    _ = try bed.redis.cli(["SADD", "ff:{e:slow}:stragglers"] + names)
    _ = try bed.redis.cli("SADD", "ff:{e:slow}:settled", "1.0")
    _ = try bed.redis.cli(
      "HSET", "ff:{e:slow}", "state", "running", "source", "notify-followers/0/0", "segments", "1",
      "settled", "1", "stragglers", "\(Self.lists)", "waiting", "\(Self.lists * Self.perList)")
    let time = WallClock.rfc3339(WallClock.nowMilliseconds())
    for (number, name) in names.enumerated() {
      let pushes = (0..<Self.perList).map { place in
        let user = number * Self.perList + place
        let member = "apns:sandbox:\(WorkerBed.app):\(paddedHex(1 << 40 | user))"
        return #"["slow-u\#(user)","\#(member)",1,0,0,false]"#
      }
      let record = """
        {"event":{"id":"slow","app":"\(WorkerBed.app)","streamer":{"id":"slow","name":"Aiko"},\
        "stream":{"id":"b1","title":"T"},"template":"go-live","occurred_at":"\(time)",\
        "expires_in":600},"id":"\(name)","parent":"1.0",\
        "stragglers":[\(pushes.joined(separator: ","))],"segments":1}
        """
      try await bed.emit(
        raw: Array(record.utf8), key: name, topic: "notify-followers.stragglers")
    }
  }

  /// Hundreds of lists of the sandbox, and one of production that is written behind them.
  @Test func itsListsOfStragglersDelayNoOthers() async throws {
    try await emitSlowLists()
    // Refused once, and then taken.
    let tokens = (0..<8).map { MagicTokens.prefix + "1503" + paddedHex($0).suffix(52) }
    try await bed.follow("good", tokens: tokens)
    let worker = try await startWorker(retryAfter: .seconds(20))
    _ = try await bed.until("the sandbox is busy") {
      await sandbox.summary().accepted >= 20 ? true : nil
    }
    try await bed.emit("good", streamer: "good")
    let good = try await bed.finished("good")
    #expect(good.accepted == 8 && good.stragglers > 0 && good.isBalanced)
    let all = Self.lists * Self.perList
    let taken = await sandbox.summary().accepted
    #expect(taken < all / 4)
    // It goes on to take what it can.
    _ = try await bed.until("more are taken") {
      await sandbox.summary().accepted >= taken + 60 ? true : nil
    }
    await sandbox.replaceScript(SimulatorScript())
    let slow = try await bed.finished("slow")
    #expect(slow.isBalanced && slow.accepted == all && slow.settled == 1 + Self.lists)
    #expect(await sandbox.summary().duplicates == 0)
    #expect(await worker.stop())
  }
}
