import Fixtures
import Model
import Record
import Redis
import ServerProcesses
import TestBed
import Testing

/// Audiences whose people have too much, or that are read while Redis is restarted.
@Suite(.serialized) struct LargeAudienceTests {
  private static let followers = 100

  /// 20 MB of names in one shard, one of which no page takes; another event goes on beside it.
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
    for number in 0..<2 { try await bed.emit("heavy-\(number)", streamer: "heavy") }
    try await bed.emit("light", streamer: "light")
    let light = try await bed.finished("light")
    #expect(light.accepted == 20 && light.isBalanced)
    for number in 0..<2 {
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

  /// A reply that never comes in the time that Redis has: nobody is passed over for that,
  /// and the fan-out ends with its event.
  @Test func whatCannotBeReadInTimeEndsWithItsEvent() async throws {
    let bed = try await WorkerBed(redis: RedisServerProcess())
    try await bed.follow("slow", tokens: [paddedHex(1)])
    try await bed.follow("light", tokens: [paddedHex(2)])
    let late = Array(paddedHex(1).utf8)
    let proxy = try await TestProxy(
      to: bed.redis.port, rewriter: { $0.firstRange(of: late) == nil ? $0 : [] })
    let worker = try await bed.startWorker {
      $0.redis = RedisOptions(port: proxy.port)
      $0.redis.commandTimeout = .milliseconds(500)
    }
    try await bed.ready()
    try await bed.emit("slow", streamer: "slow", expiresIn: 6)
    let slow = try await bed.finished("slow")
    #expect(slow.state == .done && slow.settled == 1)
    #expect(slow.pushes == 0 && slow.skipped == 0 && slow.unread == 1)
    #expect(
      bed.sink.lines.contains { $0.contains("event expired before all followers were read") })
    try await bed.emit("light", streamer: "light")
    #expect(try await bed.finished("light").accepted == 1)
    #expect(await worker.stop())
    await proxy.close()
  }

}
