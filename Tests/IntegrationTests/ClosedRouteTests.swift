import APNsSimulator
import Deliver
import Model
import Pipeline
import Processes
import Record
import Telemetry
import TestBed
import Testing
import Transport

/// Many stragglers of a route that is closed, beside a few of one that is open.
@Suite(.serialized) struct ClosedRouteTests {
  private static let shards = 64
  private static let perShard = 100
  /// Devices of the test that has one a shard.
  private static let asking = 32
  private static let followers = shards * perShard

  /// A sandbox behind `port`, and as little room as makes a lane feel every list.
  private static func narrow(_ options: inout PipelineOptions, port: Int) {
    let production = options.deliver.routes[.production]
    options.deliver.routes[.sandbox] = production.map {
      APNsRoute(endpoint: Endpoint(host: "127.0.0.1", port: port), tls: $0.tls)
    }
    options.lanes = 1
    options.limits.stragglers = 1
    options.limits.lingering = 1
    options.straggleAfter = .milliseconds(300)
    options.straggleDelay = .seconds(1)
  }

  private static func follow(_ bed: WorkerBed) async throws {
    try await bed.followInShards(
      "big", shards: shards, perShard: perShard, environment: .sandbox
    ) { shard, index in paddedHex(1 << 40 | shard << 16 | index) }
  }

  private static func allWait(_ bed: WorkerBed) async throws {
    _ = try await bed.until("all of the closed route wait") {
      try await bed.status("big").map { $0.stragglers >= shards ? true : nil } ?? nil
    }
  }

  /// How often a list of the closed route was worked on: each time it leaves another.
  private static func workedOn(_ bed: WorkerBed) async throws -> Int {
    try #require(try await bed.status("big")).stragglers
  }

  /// As older workers wrote them: without a word on its routes, of which one is open.
  private static func emitMixed(_ bed: WorkerBed) async throws {
    try await bed.follow("mixed", tokens: [paddedHex(777)])
    let sandbox = "apns:sandbox:\(WorkerBed.app):\(paddedHex(778))"
    _ = try bed.redis.cli("SADD", "ffd:{u:mixed-u0}:bindings", sandbox)
    _ = try bed.redis.cli("SADD", "ff:{e:mixed}:stragglers", "1.0~01")
    let time = WallClock.rfc3339(WallClock.nowMilliseconds())
    let record = """
      {"event":{"id":"mixed","app":"\(WorkerBed.app)","streamer":{"id":"mixed","name":"Aiko"},\
      "stream":{"id":"b1","title":"T"},"template":"go-live","occurred_at":"\(time)",\
      "expires_in":120},"id":"1.0~01","parent":"1.0","stragglers":\
      [["mixed-u0","\(sandbox)",0,0,0,false],\
      ["mixed-u0","apns:production:\(WorkerBed.app):\(paddedHex(777))",1,0,0,false]],\
      "segments":1}
      """
    try await bed.emit(raw: Array(record.utf8), key: "m", topic: "notify-followers.stragglers")
  }

  /// Devices whose first try is refused: they are stragglers of a route that is open.
  @Test func othersStragglersAreTriedInTime() async throws {
    let bed = try await WorkerBed(partitions: 1)
    try await Self.follow(bed)
    for number in 0..<3 {
      let tokens = (0..<8).map { "fa4efa4e1503" + paddedHex(number << 8 | $0).suffix(52) }
      try await bed.follow("s\(number)", tokens: tokens)
    }
    let worker = try await bed.startWorker {
      // Nobody listens on port 1 of the loopback interface.
      Self.narrow(&$0, port: 1)
      $0.deliver.retry = RetryPolicy(initial: .seconds(20), maximum: .seconds(20))
    }
    try await bed.ready()
    try await bed.emit("big", streamer: "big", expiresIn: 45)
    try await Self.allWait(bed)
    for number in 0..<3 {
      let before = try await Self.workedOn(bed)
      try await bed.emit("good\(number)", streamer: "s\(number)", expiresIn: 300)
      let good = try await bed.finished("good\(number)")
      #expect(good.accepted == 8 && good.stragglers > 0 && good.isBalanced)
      // It did not wait until each of those before it had its turn.
      let turns = try await Self.workedOn(bed) - before
      #expect(turns < Self.shards / 2, "\(turns) turns")
    }
    try await Self.emitMixed(bed)
    _ = try await bed.until("the push of the open route in an old record is sent") {
      await bed.simulator.counts(of: paddedHex(777)).accepted == 1 ? true : nil
    }
    let waiting = try #require(try await bed.status("big"))
    #expect(waiting.state == .running && waiting.obstacle.contains("sandbox: unreachable"))
    // Their event expires while they wait.
    let big = try await bed.finished("big")
    #expect(big.expired == Self.followers && big.pushes == Self.followers && big.isBalanced)
    #expect(big.recipients == Self.followers && big.waiting == 0)
    // Some seconds after that; twice its time would be a round of all lists, one after the other.
    #expect(big.doneAt - big.startedAt < 90_000)
    #expect(await bed.simulator.summary().duplicates == 0)
    #expect(await worker.stop())
  }

  @Test func allOfThemAreSentWhenItOpens() async throws {
    let bed = try await WorkerBed(partitions: 1)
    try await Self.follow(bed)
    let port = try LocalPort.findFree()
    let worker = try await bed.startWorker { Self.narrow(&$0, port: port) }
    try await bed.ready()
    try await bed.emit("big", streamer: "big", expiresIn: 300)
    try await Self.allWait(bed)
    var options = APNsSimulatorOptions(directory: bed.directory.path)
    options.port = port
    let sandbox = APNsSimulator(options: options) { _ in }
    _ = try await sandbox.start()
    let big = try await bed.finished("big")
    #expect(big.accepted == Self.followers && big.pushes == Self.followers && big.isBalanced)
    let summary = await sandbox.stop()
    #expect(summary.accepted == Self.followers && summary.duplicates == 0)
    #expect(await worker.stop())
  }

  /// Apple refuses the key for the sandbox at first: it is the lists let through that find out when
  /// it takes it.
  @Test func whoIsLetThroughAsksForTheOthers() async throws {
    let bed = try await WorkerBed(partitions: 1)
    try await Self.follow(bed)
    var options = APNsSimulatorOptions(directory: bed.directory.path)
    options.script.mix = try SimulatorScript.mix("InvalidProviderToken=1")
    let sandbox = APNsSimulator(options: options) { _ in }
    let address = try await sandbox.start()
    let worker = try await bed.startWorker {
      Self.narrow(&$0, port: address.port)
      $0.deliver.credentialHold = .seconds(1)
    }
    try await bed.ready()
    try await bed.emit("big", streamer: "big", expiresIn: 300)
    try await Self.allWait(bed)
    await sandbox.replaceScript(SimulatorScript())
    let big = try await bed.finished("big")
    #expect(big.accepted == Self.followers && big.pushes == Self.followers && big.isBalanced)
    let summary = await sandbox.stop()
    #expect(summary.accepted == Self.followers && summary.duplicates == 0)
    #expect(await worker.stop())
  }

  /// Tokens for which Apple refuses our credentials for ever close their topic, and a push that it
  /// would take waits with them: it need not wait until each of them has asked.
  @Test func whoWasNotRefusedAsksSoon() async throws {
    let bed = try await WorkerBed(partitions: 1)
    try await bed.followInShards("bad", shards: Self.asking, perShard: 1) { shard, _ in
      "fa4efa4e040f" + paddedHex(shard).suffix(52)
    }
    try await bed.follow("s1", tokens: ["fa4efa4e1503" + paddedHex(1).suffix(52)])
    let worker = try await bed.startWorker {
      Self.narrow(&$0, port: 1)
      $0.deliver.retry = RetryPolicy(initial: .seconds(20), maximum: .seconds(20))
      $0.deliver.credentialHold = .seconds(2)
      // Longer than the half second between two pushes that ask.
      $0.straggleAfter = .seconds(2)
    }
    try await bed.ready()
    try await bed.emit("bad", streamer: "bad", expiresIn: 300)
    _ = try await bed.until("all of them wait") {
      let status = try await bed.status("bad")
      return (status?.stragglers ?? 0) >= Self.asking && status?.obstacle.isEmpty == false
        ? true : nil
    }
    _ = try await bed.until("each of them has asked") { () -> Bool? in
      for shard in 0..<Self.asking {
        let token = "fa4efa4e040f" + paddedHex(shard).suffix(52)
        guard await bed.simulator.counts(of: token).requests > 0 else { return nil }
      }
      return true
    }
    let before = await bed.simulator.summary().requests
    try await bed.emit("good", expiresIn: 300)
    let good = try await bed.finished("good")
    #expect(good.accepted == 1 && good.stragglers > 0)
    let asked = await bed.simulator.summary().requests - before
    #expect(asked < Self.asking, "\(asked) requests")
    #expect(await worker.stop())
  }
}
