import Pipeline
import ServerProcesses
import Telemetry
import TestBed
import Testing

/// Followers are read while Redis is asked whether their segment is ours. It may not be, and it may
/// take long to know.
@Suite(.serialized) struct ReadAheadTests {
  /// How often Redis ran a command since its statistics were reset, whether or not it was allowed.
  private static func calls(_ command: String, _ bed: WorkerBed) throws -> Int {
    let lines = try bed.redis.cli("INFO", "commandstats").split(whereSeparator: \.isNewline)
    guard let line = lines.first(where: { $0.hasPrefix("cmdstat_\(command):") }) else { return 0 }
    return line.split(whereSeparator: { ":,".contains($0) }).reduce(0) { sum, part in
      let pair = part.split(separator: "=")
      guard ["calls", "rejected_calls"].contains(pair[0]) else { return sum }
      return sum + (Int(pair[1]) ?? 0)
    }
  }

  @Test func duplicatesReadNoMembers() async throws {
    let bed = try await WorkerBed(redis: RedisServerProcess(), partitions: 1)
    try await bed.follow("s1", tokens: (0..<5).map { paddedHex($0) })
    let worker = try await bed.startWorker {
      $0.lanes = 1
      $0.limits.events = 2
    }
    try await bed.emit("e1")
    #expect(try await bed.finished("e1").accepted == 5)
    _ = try bed.redis.cli("CONFIG", "RESETSTAT")
    for _ in 0..<20 { try await bed.emit("e1") }
    _ = try await bed.until("all of them are dropped") {
      worker.counters.snapshot()[.eventsDuplicate] == 20 ? true : nil
    }
    let inVain = try Self.calls("sscan", bed) + Self.calls("smembers", bed)
    #expect(inVain <= 2, "one for each place")
    // What is new is read all the same.
    for event in ["e2", "e3"] {
      try await bed.emit(event)
      #expect(try await bed.finished(event).accepted == 5)
    }
    #expect(await worker.stop())
  }

  @Test func whatOthersWorkOnIsNotReadAgainAndAgain() async throws {
    let bed = try await WorkerBed(redis: RedisServerProcess(), partitions: 1)
    try await bed.follow("s1", tokens: (0..<5).map { paddedHex($0) })
    let end = WallClock.nowMilliseconds() + 300_000
    _ = try bed.redis.cli("HSET", "ff:{e:e1}:claims", "1.0", "worker-9/x/0.1 \(end)")
    let worker = try await bed.startWorker {
      $0.lanes = 1
      $0.limits.events = 2
      $0.claimLifetime = .milliseconds(600)
      $0.heartbeatInterval = .seconds(600)
    }
    try await bed.ready()
    _ = try bed.redis.cli("CONFIG", "RESETSTAT")
    try await bed.emit("e1")
    _ = try await bed.until("it was asked for often") {
      try Self.calls("evalsha", bed) >= 20 ? true : nil
    }
    let inVain = try Self.calls("sscan", bed) + Self.calls("smembers", bed)
    #expect(inVain <= 2, "one for each place")
    _ = try bed.redis.cli("HDEL", "ff:{e:e1}:claims", "1.0")
    #expect(try await bed.finished("e1").accepted == 5)
    #expect(await worker.stop())
  }

  /// Redis forbids to open the event until somebody has followed and somebody has left.
  @Test func followersThatWereReadLongAgoAreReadAgain() async throws {
    let bed = try await WorkerBed(redis: RedisServerProcess(), partitions: 1)
    try await bed.follow("s1", tokens: [paddedHex(1), paddedHex(2)])
    // A device for whoever follows later.
    try await bed.follow("s2", tokens: [paddedHex(3)])
    _ = try bed.redis.cli("ACL", "SETUSER", "fanfare", "on", ">secret", "~*", "+@all", "-hsetnx")
    let worker = try await bed.startWorker {
      $0.lanes = 1
      $0.readAheadLifetime = .milliseconds(50)
      $0.heartbeatInterval = .seconds(600)
      $0.redis.username = "fanfare"
      $0.redis.password = "secret"
    }
    try await bed.ready()
    _ = try bed.redis.cli("CONFIG", "RESETSTAT")
    try await bed.emit("e1")
    // 100 and 200 ms are waited between them, or half of that.
    // The first of them registers the event with its streamer, which is not forbidden.
    _ = try await bed.until("it was asked for three times") {
      try Self.calls("evalsha", bed) >= 4 ? true : nil
    }
    #expect(try Self.calls("sscan", bed) == 1)
    let shard = try bed.redis.cli("KEYS", "ffd:{f:s1:*}")
    _ = try bed.redis.cli("SADD", shard, "s2-u0")
    _ = try bed.redis.cli("SREM", shard, "s1-u0")
    _ = try bed.redis.cli("ACL", "SETUSER", "fanfare", "+@all")
    let status = try await bed.finished("e1")
    #expect(status.accepted == 2 && status.isBalanced)
    for (token, count) in [(1, 0), (2, 1), (3, 1)] {
      #expect(await bed.simulator.counts(of: paddedHex(token)).accepted == count)
    }
    #expect(await worker.stop())
  }
}
