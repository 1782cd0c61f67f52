import APNsSimulator
import Deliver
import Model
import Record
import Redis
import Telemetry
import TestBed
import Testing

/// What APNs may answer, and what then stands in Redis and in the ledger.
@Suite(.serialized) struct APNsAnswerTests {
  @Test func givesEachAnswerItsOutcome() async throws {
    let bed = try await WorkerBed()
    // One token an answer, in the simulator's own language (MagicTokens).
    let codes = [
      "0400", "0401", "0402", "0403", "0410", "0411", "0412", "0413", "1429", "2500", "1503",
      "150d", "1e02", "1e07", "1e08", "0200",
    ]
    // And enough that are taken to show that environment and app are right.
    let healthy = (0..<40).map { paddedHex(0xA000 + $0) }
    try await bed.follow("s1", tokens: codes.map(token) + healthy)
    let worker = try await bed.startWorker()
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.isBalanced && status.pushes == codes.count + healthy.count)
    #expect(
      status.rejected == [
        "BadDeviceToken": 1, "DeviceTokenNotForTopic": 1, "TopicDisallowed": 1, "Forbidden": 1,
        "Unregistered": 2, "ExpiredToken": 1, "PayloadTooLarge": 1,
      ])
    #expect(status.accepted == 8 + healthy.count)
    // One or two fewer when a GOAWAY puts a push back, which is no try.
    #expect((6...8).contains(status.retried))
    // 410 and 411 are stamped now, after the binding: pruned. 412 is older than its binding: kept.
    #expect(status.pruned == 2)
    #expect(status.pruneRefused == 1)
    #expect(status.quarantined == 2)
    #expect(try bindings(bed, of: 4) == "")
    #expect(try bindings(bed, of: 6).contains(token("0412")))
    #expect(try bindings(bed, of: 0) == "")
    #expect(try bed.redis.cli("HKEYS", "ffd:{u:s1-u0}:quarantined").contains(token("0400")))
    #expect(await bed.simulator.summary().duplicates == 0)
    #expect(await worker.stop())
  }

  @Test func expiresWhatIsRefusedUntilTheEventIsOver() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: ["0503", "0429", "0e07", "0200"].map(token))
    let worker = try await bed.startWorker {
      // Not so often that they come to the limit of tries.
      $0.deliver.retry = RetryPolicy(initial: .seconds(1), maximum: .seconds(2))
      $0.straggleAfter = .seconds(600)
    }
    try await bed.ready()
    try await bed.emit("e1", expiresIn: 8)
    let status = try await bed.finished("e1")
    #expect(status.expired == 3 && status.accepted == 1 && status.isBalanced)
    #expect(await worker.stop())
  }

  @Test func givesUpOnStreamsWithoutAnswer() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: ["1fff", "2fff", "0200"].map(token))
    let worker = try await bed.startWorker { $0.deliver.requestTimeout = .milliseconds(300) }
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.accepted == 3 && status.isBalanced)
    // On a busy machine other answers may come too late as well.
    let requests = await bed.simulator.summary().requests
    #expect(requests >= 6 && status.retried == requests - 3)
    #expect(await worker.stop())
  }

  @Test(arguments: ["goaway", "drop", "one stream", "silent"])
  func losesNothingWhenConnectionsGo(fault: String) async throws {
    var script = SimulatorScript()
    switch fault {
    case "goaway": script.goAwayAfter = 100
    case "drop": script.dropAfter = 100
    case "silent": script.silentAfter = 200
    default: script.streams = 1
    }
    let bed = try await WorkerBed(script: script)
    let plain = (0..<1500).map { paddedHex($0) }
    try await bed.follow("s1", tokens: plain)
    let worker = try await bed.startWorker {
      $0.deliver.streamsPerConnection = 50
      guard fault == "silent" else { return }
      $0.deliver.requestTimeout = .milliseconds(500)
      $0.deliver.pingTimeout = .milliseconds(300)
    }
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.accepted == 1500 && status.isBalanced)
    let lost = await bed.simulator.counts(of: plain).count { $0.accepted == 0 }
    #expect(lost == 0)
    if fault == "goaway" || fault == "one stream" {
      #expect(await bed.simulator.summary().duplicates == 0)
    }
    #expect(await worker.stop())
  }

  @Test func holdsEverythingWhileCredentialsAreRefusedAndLosesNothing() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: ["140f", "0200", "0201"].map(token))
    let worker = try await bed.startWorker { $0.deliver.credentialHold = .milliseconds(500) }
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.accepted == status.pushes && status.pushes >= 2)
    // One push was refused and another was taken: no reason to hold anything.
    #expect(!bed.sink.lines.contains { $0.contains("APNs refuses our credentials") })
    // Each so often that nobody is taken before four of those count that ask what it means.
    try await bed.follow("s2", tokens: "abcdef".map { token("440f", filler: $0) })
    try await bed.emit("e2", streamer: "s2")
    let held = try await bed.finished("e2")
    #expect(held.accepted == 6)
    #expect(bed.sink.lines.contains { $0.contains("APNs refuses our credentials") })
    #expect(bed.sink.lines.contains { $0.contains("pushes can be sent again") })
    #expect(await worker.stop())
  }

  /// A key that Apple refuses for the app is not only a line in the log.
  @Test func aRefusedKeyShowsInHeartbeatAndFanOut() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: "abcdef".map { token("040f", filler: $0) })
    let worker = try await bed.startWorker {
      $0.heartbeatInterval = .milliseconds(100)
      $0.straggleAfter = .milliseconds(200)
      $0.straggleDelay = .seconds(1)
    }
    try await bed.ready()
    try await bed.emit("e1", expiresIn: 20)
    let wanted = "production \(WorkerBed.app): InvalidProviderToken"
    _ = try await bed.until("the heartbeat names the app") {
      let held = try bed.redis.cli("HGET", "ff:worker:worker-1", "held_routes")
      return held.contains(wanted) ? true : nil
    }
    _ = try await bed.until("the fan-out names it too") {
      try await bed.status("e1").map { $0.obstacle == wanted ? true : nil } ?? nil
    }
    let status = try await bed.finished("e1")
    #expect(status.expired == 6 && status.isBalanced)
    #expect(await worker.stop())
  }

  /// Bound for production by an app server that meant the sandbox, a few devices a streamer.
  @Test func aWrongEnvironmentLosesNoBinding() async throws {
    let bed = try await WorkerBed()
    func wrong(_ streamer: Int, _ device: Int) -> String {
      let number = String(streamer << 8 | device, radix: 16)
      return String(token("0400").dropLast(number.count)) + number
    }
    for streamer in 0..<40 {
      try await bed.follow("s\(streamer)", tokens: (0..<15).map { wrong(streamer, $0) })
    }
    let worker = try await bed.startWorker()
    for streamer in 0..<40 { try await bed.emit("e\(streamer)", streamer: "s\(streamer)") }
    for streamer in 0..<40 {
      let status = try await bed.finished("e\(streamer)")
      #expect(status.rejected == ["BadDeviceToken": 15] && status.quarantined == 0)
    }
    let bound = try await bed.withRedis { client in
      let pipeline = RedisPipeline()
      for streamer in 0..<40 {
        for device in 0..<15 {
          pipeline.append(["SCARD", "ffd:{u:s\(streamer)-u\(device)}:bindings"])
        }
      }
      let replies = try await client.execute(pipeline)
      return (0..<replies.count).map { replies[$0].integer }
    }
    #expect(bound == Array(repeating: 1, count: 600))
    #expect(bed.sink.lines.contains { $0.contains("Apple calls tokens unusable") })
    #expect(await worker.stop())
  }

  private func bindings(_ bed: WorkerBed, of index: Int) throws -> String {
    try bed.redis.cli("SMEMBERS", "ffd:{u:s1-u\(index)}:bindings")
  }

  private func token(_ code: String) -> String { token(code, filler: "b") }

  private func token(_ code: String, filler: Character) -> String {
    let start = MagicTokens.prefix + code
    return start + String(repeating: filler, count: 64 - start.count)
  }
}
