import Model
import Record
import ServerProcesses
import TestBed
import Testing

/// Audiences whose people have too much, or that are read while Redis is restarted.
@Suite(.serialized) struct LargeAudienceTests {
  private static let followers = 400

  /// 80 MB of names in one shard, one of which no page takes; another event goes on beside it.
  @Test func aPageThatIsTooLargeDelaysNobody() async throws {
    let bed = try await WorkerBed(redis: RedisServerProcess())
    try await bed.follow("heavy", tokens: (0..<Self.followers).map(paddedHex))
    try await bed.follow("light", tokens: (1_000..<1_020).map(paddedHex))
    let names = """
      for i = 0, \(Self.followers - 1) do
        local size = i == 7 and 3000000 or 200000
        redis.call('HSET', 'ffd:{u:heavy-u' .. i .. '}:profile', 'name', string.rep('n', size))
      end
      """
    try bed.redis.cli("EVAL", names, "0")
    let worker = try await bed.startWorker { $0.lanes = 1 }
    for number in 0..<3 { try await bed.emit("heavy-\(number)", streamer: "heavy") }
    try await bed.emit("light", streamer: "light")
    let light = try await bed.finished("light")
    #expect(light.accepted == 20 && light.isBalanced)
    for number in 0..<3 {
      let heavy = try await bed.finished("heavy-\(number)")
      #expect(heavy.accepted == Self.followers - 1 && heavy.isBalanced)
      #expect(heavy.state == .done)
    }
    // Sent to with the name left out; counted as skipped is each value that no payload holds, and
    // the one who was passed over.
    let skipped = try bed.redis.cli("HGET", "ff:{e:heavy-0}", "skipped")
    #expect(skipped == "\(Self.followers)")
    #expect(await worker.stop())
  }

  /// A reply for which Redis needs longer than it has, each time: nobody is passed over for that,
  /// and the fan-out ends with its event.
  @Test func whatCannotBeReadInTimeEndsWithItsEvent() async throws {
    let bed = try await WorkerBed(redis: RedisServerProcess())
    try await bed.follow("slow", tokens: [paddedHex(1)])
    try await bed.follow("light", tokens: [paddedHex(2)])
    let bindings = """
      for i = 1, 1000000 do
        redis.call('SADD', 'ffd:{u:slow-u0}:bindings', string.rep('b', 50) .. i)
      end
      """
    try bed.redis.cli("EVAL", bindings, "0")
    let worker = try await bed.startWorker {
      $0.redis.commandTimeout = .milliseconds(200)
      $0.redis.maximumReplyBytes = 1 << 30
      $0.expand.maximumPageBytes = 1 << 30
    }
    try await bed.ready()
    try await bed.emit("slow", streamer: "slow", expiresIn: 6)
    let slow = try await bed.finished("slow")
    #expect(slow.state == .done && slow.settled == 1)
    #expect(slow.pushes == 0 && slow.skipped == 0)
    #expect(
      bed.sink.lines.contains { $0.contains("event expired before all followers were read") })
    try await bed.emit("light", streamer: "light")
    #expect(try await bed.finished("light").accepted == 1)
    #expect(await worker.stop())
  }

  @Test func aRestartUnderAPlainSetSendsAndCountsOnce() async throws {
    let count = 3_000
    let bed = try await WorkerBed(redis: RedisServerProcess(isDurable: true))
    try await bed.follow("other", tokens: (0..<count).map(paddedHex))
    try bed.redis.cli(["SADD", "followers:s1"] + (0..<count).map { "other-u\($0)" })
    let worker = try await bed.startWorker {
      $0.lanes = 1
      $0.expand.plainSetKey = "followers:{streamer}"
      $0.expand.pageSize = 100
      $0.deliver.streamsPerConnection = 20
      $0.deliver.readyPushes = 100
    }
    try await bed.emit("e1")
    _ = try await bed.until("some pushes have gone") {
      await bed.simulator.summary().accepted > 500 ? true : nil
    }
    bed.redis.kill()
    try bed.redis.start()
    let status = try await bed.finished("e1")
    let summary = await bed.simulator.summary()
    #expect(status.isBalanced && status.accepted == count && status.recipients == count)
    #expect(summary.accepted == count && summary.duplicates == 0)
    #expect(await worker.stop())
  }
}
