import APNsSimulator
import Deliver
import Model
import Pipeline
import Processes
import Record
import Telemetry
import Testing
import Transport
import World

/// Many stragglers of a route that is closed, beside a few of one that is open.
@Suite struct ClosedRouteTests {
  private static let shards = 64
  private static let perShard = 20
  /// Devices of the test that has one a shard.
  private static let asking = 32
  private static let followers = shards * perShard

  /// As little room as makes a lane feel every list.
  private static func narrow(_ options: inout PipelineOptions) {
    options.lanes = 1
    options.limits.stragglers = 1
    options.limits.awaitingAnswers = 1
    options.straggleAfter = .milliseconds(300)
    options.straggleDelay = .seconds(1)
  }

  private static func follow(_ harness: WorldHarness) throws {
    harness.world.network.change(World.sandbox) { $0.isRefused = true }
    harness.followInShards(
      "big", shards: shards, perShard: perShard, destination: .sandbox
    ) { shard, index in paddedHex(1 << 40 | shard << 16 | index) }
  }

  private static func expectAllSent(_ harness: WorldHarness, _ sandbox: WorldSandbox) throws {
    let big = try harness.finished("big")
    #expect(big.accepted == followers && big.pushes == followers && big.isBalanced)
    let summary = sandbox.summary
    #expect(summary.accepted == followers && summary.duplicates == 0)
  }

  private static func allWait(_ harness: WorldHarness) throws {
    _ = try harness.until("all of the closed route wait") {
      harness.status("big").map { $0.stragglers >= shards ? true : nil } ?? nil
    }
  }

  /// How often a list of the closed route was worked on: each time it leaves another.
  private static func workedOn(_ harness: WorldHarness) throws -> Int {
    try #require(harness.status("big")).stragglers
  }

  /// As older workers wrote them: without a word on its routes, of which one is open.
  private static func emitMixed(_ harness: WorldHarness) throws {
    harness.follow("mixed", tokens: [paddedHex(777)])
    let sandbox = "apns:sandbox:\(WorldHarness.app):\(paddedHex(778))"
    harness.redis("SADD", "ffd:{u:mixed-u0}:bindings", sandbox)
    harness.redis("SADD", "ff:{e:mixed}:stragglers", "1.0~01")
    let time = WallClock.rfc3339(harness.now)
    let record = """
      {"event":{"id":"mixed","app":"\(WorldHarness.app)","streamer":{"id":"mixed","name":"Aiko"},\
      "stream":{"id":"b1","title":"T"},"template":"go-live","occurred_at":"\(time)",\
      "expires_in":120},"id":"1.0~01","parent":"1.0","stragglers":\
      [["mixed-u0","\(sandbox)",0,0,0,false],\
      ["mixed-u0","apns:production:\(WorldHarness.app):\(paddedHex(777))",1,0,0,false]],\
      "segments":1}
      """
    harness.append(record, key: "m", topic: "notify-followers.stragglers")
  }

  /// Devices whose first try is refused: they are stragglers of a route that is open.
  @Test func othersStragglersAreTriedInTime() throws {
    try WorldHarness.live(partitions: 1) { harness in
      try Self.follow(harness)
      for number in 0..<3 {
        let tokens = (0..<8).map { "fa4efa4e1503" + paddedHex(number << 8 | $0).suffix(52) }
        harness.follow("s\(number)", tokens: tokens)
      }
      let worker = try harness.startWorker {
        Self.narrow(&$0)
        $0.deliver.retry = RetryPolicy(initial: .seconds(20), maximum: .seconds(20))
      }
      try harness.ready()
      harness.emit("big", streamer: "big", expiresIn: 45)
      try Self.allWait(harness)
      for number in 0..<3 {
        let before = try Self.workedOn(harness)
        harness.emit("good\(number)", streamer: "s\(number)", expiresIn: 300)
        let good = try harness.finished("good\(number)")
        #expect(good.accepted == 8 && good.stragglers > 0 && good.isBalanced)
        // It did not wait until each of those before it had its turn.
        let turns = try Self.workedOn(harness) - before
        #expect(turns < Self.shards / 2, "\(turns) turns")
      }
      try Self.emitMixed(harness)
      _ = try harness.until("the push of the open route in an old record is sent") {
        harness.counts(of: paddedHex(777)).accepted == 1 ? true : nil
      }
      let waiting = try #require(harness.status("big"))
      #expect(waiting.state == .running && waiting.obstacle.contains("sandbox: unreachable"))
      // Their event expires while they wait.
      let big = try harness.finished("big")
      #expect(big.expired == Self.followers && big.pushes == Self.followers && big.isBalanced)
      #expect(big.recipients == Self.followers && big.waiting == 0)
      // Some seconds after that; twice its time would be a round of all lists, one after the other.
      #expect(big.doneAt - big.startedAt < 90_000)
      #expect(harness.summary.duplicates == 0)
      #expect(harness.stop(worker))
    }
  }

  @Test func allOfThemAreSentWhenItOpens() throws {
    try WorldHarness.live(partitions: 1) { harness in
      try Self.follow(harness)
      let worker = try harness.startWorker { Self.narrow(&$0) }
      try harness.ready()
      harness.emit("big", streamer: "big", expiresIn: 300)
      try Self.allWait(harness)
      let sandbox = harness.startSandbox()
      try Self.expectAllSent(harness, sandbox)
      #expect(harness.stop(worker))
    }
  }

  /// Apple refuses the key for the sandbox at first: it is the lists let through that find out when
  /// it takes it.
  @Test func whoIsLetThroughAsksForTheOthers() throws {
    try WorldHarness.live(partitions: 1) { harness in
      try Self.follow(harness)
      var script = SimulatorScript()
      script.mix = try SimulatorScript.mix("InvalidProviderToken=1")
      let sandbox = harness.startSandbox(script: script)
      let worker = try harness.startWorker {
        Self.narrow(&$0)
        $0.deliver.credentialHold = .seconds(1)
      }
      try harness.ready()
      harness.emit("big", streamer: "big", expiresIn: 300)
      try Self.allWait(harness)
      sandbox.replaceScript(SimulatorScript())
      try Self.expectAllSent(harness, sandbox)
      #expect(harness.stop(worker))
    }
  }

  /// Tokens for which Apple refuses our credentials for ever close their topic, and a push that it
  /// would take waits with them: it need not wait until each of them has asked.
  @Test func whoWasNotRefusedAsksSoon() throws {
    try WorldHarness.live(partitions: 1) { harness in
      harness.followInShards("bad", shards: Self.asking, perShard: 1) { shard, _ in
        "fa4efa4e040f" + paddedHex(shard).suffix(52)
      }
      harness.follow("s1", tokens: ["fa4efa4e1503" + paddedHex(1).suffix(52)])
      let worker = try harness.startWorker {
        Self.narrow(&$0)
        $0.deliver.retry = RetryPolicy(initial: .seconds(20), maximum: .seconds(20))
        $0.deliver.credentialHold = .seconds(2)
        // Longer than the half second between two pushes that ask.
        $0.straggleAfter = .seconds(2)
      }
      try harness.ready()
      harness.emit("bad", streamer: "bad", expiresIn: 300)
      _ = try harness.until("all of them wait") {
        let status = harness.status("bad")
        return (status?.stragglers ?? 0) >= Self.asking && status?.obstacle.isEmpty == false
          ? true : nil
      }
      _ = try harness.until("each of them has asked") { () -> Bool? in
        for shard in 0..<Self.asking {
          let token = "fa4efa4e040f" + paddedHex(shard).suffix(52)
          guard harness.counts(of: token).requests > 0 else { return nil }
        }
        return true
      }
      let before = harness.summary.requests
      harness.emit("good", expiresIn: 300)
      let good = try harness.finished("good")
      #expect(good.accepted == 1 && good.stragglers > 0)
      let asked = harness.summary.requests - before
      #expect(asked < Self.asking / 2, "\(asked) requests")
      #expect(harness.stop(worker))
    }
  }
}
