import APNsSimulator
import Pipeline
import Record
import Redis
import Telemetry
import TestBed
import Testing

/// Outcomes of real pushes on their way to those who tap.
@Suite(.serialized) struct TapTests {
  private static func start(
    _ bed: WorkerBed, heartbeat: Duration = .milliseconds(50)
  ) async throws -> Worker {
    let worker = try await bed.startWorker { $0.heartbeatInterval = heartbeat }
    try await bed.ready()
    return worker
  }

  private static func bedOfOneDeadDevice() async throws -> WorkerBed {
    var script = SimulatorScript()
    let gone = Refusal(status: 410, reason: "Unregistered", timestamp: .now)
    script.rules = [.init(tokens: [paddedHex(1)], steps: [.init(.refuse(gone))])]
    return try await WorkerBed(script: script)
  }

  private static func keepTap(
    _ bed: WorkerBed, _ id: String, rate: Int = 200, _ change: (inout TapFilter) -> Void = { _ in }
  ) async throws {
    var filter = TapFilter()
    change(&filter)
    let wanted = filter
    #expect(
      try await bed.withRedis {
        try await RecordStage(redis: $0, keyspace: bed.keyspace)
          .keepTap(id, wanted, rate: rate, secret: "secret")
      })
  }

  private static func samples(_ bed: WorkerBed) async throws -> [TapSample] {
    try await bed.withRedis {
      try await RecordStage(redis: $0, keyspace: bed.keyspace).tapSamples(after: "0-0").samples
    }
  }

  /// An event of a streamer with one follower is sent until the worker has seen the tap.
  private static func warmUp(_ bed: WorkerBed) async throws {
    try await bed.follow("warm", tokens: [paddedHex(99_999)])
    var number = 0
    while try await samples(bed).isEmpty {
      number += 1
      try await bed.emit("warm-\(number)", streamer: "warm")
      _ = try await bed.finished("warm-\(number)")
      try #require(number < 200)
    }
  }

  @Test func outcomesAreSeenWithoutTokens() async throws {
    let bed = try await Self.bedOfOneDeadDevice()
    let worker = try await Self.start(bed)
    try await Self.keepTap(bed, "t1")
    try await Self.warmUp(bed)
    try await bed.follow("s1", tokens: (0..<10).map { paddedHex($0) })
    try await bed.emit("e1")
    _ = try await bed.finished("e1")
    let samples = try await bed.until("all outcomes are there") {
      let mine = try await Self.samples(bed).filter { $0.event == "e1" }
      return mine.count == 10 ? mine : nil
    }
    let rejected = samples.filter { $0.outcome == "rejected" }
    #expect(rejected.map(\.reason) == ["Unregistered"])
    #expect(samples.count { $0.outcome == "accepted" } == 9)
    let key = TokenLabelKey(secret: Array("secret".utf8))
    let hashes = (0..<10).map { number in
      Array(paddedHex(number).utf8).withUnsafeBytes { key.digest($0) }
    }
    #expect(Set(samples.map(\.token)) == Set(hashes))
    for sample in samples {
      #expect(sample.streamer == "s1")
      #expect(sample.platform == "apns")
      #expect(sample.environment == "production")
      #expect(sample.app == WorkerBed.app)
      #expect(sample.worker == "worker-1")
      #expect(sample.attempts == 1)
      #expect(sample.milliseconds.map { $0 >= 0 && $0 < 60_000 } == true)
      #expect(abs(sample.at - WallClock.nowMilliseconds()) < 600_000)
    }
    let stream = try bed.redis.cli("XRANGE", "ff:{tap}:samples", "-", "+")
    for number in 0..<10 { #expect(!stream.contains(paddedHex(number))) }
    _ = await worker.stop()
  }

  @Test func nobodyTapsAndThereIsNoStream() async throws {
    let bed = try await WorkerBed()
    let worker = try await Self.start(bed)
    try await bed.follow("s1", tokens: (0..<10).map { paddedHex($0) })
    try await bed.emit("e1")
    _ = try await bed.finished("e1")
    let beats = try bed.redis.cli("HGET", "ff:worker:worker-1", "beat_ms")
    _ = try await bed.until("a beat has come since") {
      try bed.redis.cli("HGET", "ff:worker:worker-1", "beat_ms") != beats ? true : nil
    }
    #expect(try bed.redis.cli("EXISTS", "ff:{tap}:samples") == "0")
    #expect(try bed.redis.cli("HKEYS", "ff:workers") == "worker-1")
    _ = await worker.stop()
  }

  @Test func filtersChooseOutcomes() async throws {
    let bed = try await Self.bedOfOneDeadDevice()
    let worker = try await Self.start(bed)
    try await Self.keepTap(bed, "t1") { $0.reason = "Unregistered" }
    try await Self.keepTap(bed, "t2") { $0.streamer = "warm" }
    try await Self.warmUp(bed)
    try await bed.follow("s1", tokens: (0..<10).map { paddedHex($0) })
    try await bed.emit("e1")
    _ = try await bed.finished("e1")
    _ = try await bed.until("the rejected one is there") {
      try await Self.samples(bed).contains { $0.event == "e1" } ? true : nil
    }
    let mine = try await Self.samples(bed).filter { $0.streamer == "s1" }
    #expect(mine.map(\.reason) == ["Unregistered"])
    _ = await worker.stop()
  }

  /// What passes in a burst is bounded by a second's worth, and after that by the rate.
  @Test func theRateBoundsAllLanes() async throws {
    let bed = try await WorkerBed()
    let worker = try await Self.start(bed)
    try await Self.keepTap(bed, "t1", rate: 5) { $0.streamer = "s1" }
    try await Self.keepTap(bed, "t2", rate: 5) { $0.streamer = "warm" }
    try await Self.warmUp(bed)
    try await bed.follow("s1", tokens: (0..<3_000).map { paddedHex($0) })
    let before = try await Self.samples(bed).count
    let began = WallClock.nowMilliseconds()
    try await bed.emit("e1")
    _ = try await bed.finished("e1")
    let seconds = Double(WallClock.nowMilliseconds() - began) / 1000
    let after = try await bed.until("something is there") {
      let count = try await Self.samples(bed).count
      return count > before ? count : nil
    }
    #expect(Double(after - before) <= 5 * (seconds + 2) + 1)
    #expect(try await bed.status("e1")?.accepted == 3_000)
    _ = await worker.stop()
  }
}
