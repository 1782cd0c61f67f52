import Devices
import Pipeline
import Record
import ServerProcesses
import Telemetry
import TestBed
import Testing

/// Redis that forbids something, and clocks that differ: an operator's to mend, not the record's
/// fault. The worker waits, says what for, and goes on.
@Suite(.serialized) struct DisagreementTests {
  /// Commands that the worker needs at different steps: reading, opening, claiming, settling.
  @Test(arguments: ["smembers", "sismember", "sadd", "hincrby", "hset", "xadd", "evalsha"])
  func aMissingPermissionIsWaitedForAndNamed(command: String) async throws {
    let bed = try await WorkerBed(redis: RedisServerProcess())
    try await bed.follow("s1", tokens: [paddedHex(1), paddedHex(2)])
    _ = try bed.redis.cli(
      "ACL", "SETUSER", "fanfare", "on", ">secret", "~*", "+@all", "-\(command)")
    let worker = try await bed.startWorker {
      $0.heartbeatInterval = .milliseconds(100)
      $0.redis.username = "fanfare"
      $0.redis.password = "secret"
    }
    try await bed.ready()
    try await bed.emit("e1")
    _ = try await bed.until("the worker says what it waits for") {
      bed.sink.lines.contains { line in
        line.contains("waiting to ") && line.lowercased().contains("noperm")
          && line.lowercased().contains(command)
      } ? true : nil
    }
    // The heartbeat is an HSET itself.
    if command != "hset" {
      _ = try await bed.until("the heartbeat says it too") {
        let waits = try bed.redis.cli("HGET", "ff:worker:worker-1", "waits_for").lowercased()
        return waits.contains("noperm") && waits.contains(command) ? true : nil
      }
    }
    _ = try bed.redis.cli("ACL", "SETUSER", "fanfare", "+@all")
    let status = try await bed.finished("e1")
    #expect(status.accepted == 2 && status.pushes == 2 && status.recipients == 2)
    #expect(status.isBalanced && status.recordErrors == 0)
    #expect(await bed.simulator.summary().duplicates == 0)
    #expect(!bed.sink.lines.contains { $0.contains("record sent to the dead letters") })
    #expect(await worker.stop())
  }

  /// A newer version may need more: what was not granted is said at once, before an event needs it.
  @Test func allMissingPermissionsAreNamedWhenTheWorkerStarts() async throws {
    let bed = try await WorkerBed(redis: RedisServerProcess())
    _ = try bed.redis.cli(
      "ACL", "SETUSER", "fanfare", "on", ">secret", "~*", "+@all", "-hsetnx", "-zadd", "-smismember"
    )
    let worker = try await bed.startWorker {
      $0.redis.username = "fanfare"
      $0.redis.password = "secret"
    }
    let lines = try await bed.until("the worker names them") {
      let lines = bed.sink.lines.filter { $0.contains("our Redis user may not use commands") }
      return lines.isEmpty ? nil : lines
    }
    #expect(lines.count == 1)
    for command in ["HSETNX", "ZADD", "SMISMEMBER"] { #expect(lines[0].contains(command)) }
    #expect(await worker.stop())
  }

  /// The event is young by Redis' clock and by everybody else's.
  @Test func aWorkerWhoseClockIsAheadExpiresNothing() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: [paddedHex(1)])
    let ahead = try await bed.startWorker {
      $0.deliver.wallClock = { WallClock.nowMilliseconds() + 3_600_000 }
    }
    try await bed.ready()
    try await bed.emit("e1", expiresIn: 120)
    _ = try await bed.until("the worker says that its clock is ahead") {
      bed.sink.lines.contains { $0.contains("ahead of Redis', and event e1 has") } ? true : nil
    }
    let running = try await bed.status("e1")
    #expect(running?.state != .expired && running?.expired ?? 0 == 0)
    _ = await ahead.stop()
    let right = try await bed.startWorker { $0.workerID = "worker-2" }
    let status = try await bed.finished("e1")
    #expect(status.accepted == 1 && status.expired == 0)
    #expect(await right.stop())
  }

  /// After a few seconds both clocks say that the event has expired.
  @Test func aWorkerWhoseClockIsALittleAheadWaits() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: [paddedHex(1)])
    let ahead = try await bed.startWorker {
      $0.deliver.wallClock = { WallClock.nowMilliseconds() + 7_000 }
    }
    try await bed.ready()
    try await bed.emit("e1", expiresIn: 5)
    #expect(try await bed.finished("e1").state == .expired)
    #expect(!bed.sink.lines.contains { $0.contains("gives its partitions up") })
    #expect(await ahead.stop())
  }

  /// It lives on, unready, and another worker has its partitions.
  @Test func aWorkerWhoseClockIsAheadGivesItsPartitionsUp() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: [paddedHex(1)])
    let ahead = try await bed.startWorker {
      $0.deliver.wallClock = { WallClock.nowMilliseconds() + 3_600_000 }
      $0.heartbeatInterval = .milliseconds(100)
    }
    try await bed.ready()
    try await bed.emit("e1", expiresIn: 300)
    _ = try await bed.until("it has no partitions") {
      let parts = await ahead.health().filter { $0.trouble != nil }
      let troubles = parts.compactMap(\.trouble).joined()
      return parts.contains { $0.name == "partitions" } && troubles.contains("s ahead of Redis'")
        ? true : nil
    }
    #expect(bed.sink.lines.contains { $0.contains("it gives its partitions up") })
    #expect(await ahead.metrics().text.contains("\nfanfare_clock_ahead_seconds 3600"))
    let right = try await bed.startWorker { $0.workerID = "worker-2" }
    let status = try await bed.finished("e1")
    #expect(status.accepted == 1 && status.expired == 0)
    #expect(await bed.simulator.summary().duplicates == 0)
    #expect(await right.stop())
    _ = await ahead.stop()
  }

  /// Every good event seems to come from the future.
  @Test func aWorkerWhoseClockIsBehindRefusesNothing() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: [paddedHex(1)])
    let behind = try await bed.startWorker {
      $0.deliver.wallClock = { WallClock.nowMilliseconds() - 660_000 }
      $0.heartbeatInterval = .milliseconds(100)
    }
    try await bed.ready()
    try await bed.emit("e1", expiresIn: 120)
    let status = try await bed.finished("e1")
    #expect(status.accepted == 1 && status.isBalanced)
    #expect(!bed.sink.lines.contains { $0.contains("record sent to the dead letters") })
    #expect(
      bed.sink.lines.contains { $0.contains("clock is behind Redis'") && $0.contains("\"e1\"") })
    _ = try await bed.until("the heartbeat says how far") {
      let ahead = try bed.redis.cli("HGET", "ff:worker:worker-1", "clock_ahead_ms")
      return Int(ahead).map { abs($0 + 660_000) < 60_000 ? true : nil } ?? nil
    }
    // It is early by Redis' clock too.
    try await bed.emit("e2", occurredAt: WallClock.nowMilliseconds() + 3_600_000)
    _ = try await bed.until("it goes to the dead letters") {
      bed.sink.lines.contains {
        $0.contains("record sent to the dead letters") && $0.contains("occurred_in_future")
      } ? true : nil
    }
    #expect(await behind.stop())
  }

  /// It was opened, and its record is a dead letter after that.
  @Test func anEventThatIsEarlyForThisWorkerAloneSaysWhatItIsWithout() async throws {
    let bed = try await WorkerBed(redis: RedisServerProcess())
    try await bed.follow("s1", tokens: [paddedHex(1)])
    let shard = try bed.redis.cli("KEYS", "ffd:{f:s1:*}")
    _ = try bed.redis.cli("SET", shard, "a string")
    let behind = try await bed.startWorker {
      $0.deliver.wallClock = { WallClock.nowMilliseconds() - 660_000 }
    }
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.state == .incomplete && status.settled == 0)
    #expect(await behind.stop())
  }

  /// A segment of an event that others have opened.
  @Test func aWorkerWhoseClockIsAheadLeavesSegmentsAlone() async throws {
    let bed = try await WorkerBed()
    try await bed.followInShards("s1", shards: 1, perShard: 3) { _, index in paddedHex(index) }
    let ahead = try await bed.startWorker {
      $0.deliver.wallClock = { WallClock.nowMilliseconds() + 3_600_000 }
    }
    try await bed.ready()
    let now = WallClock.rfc3339(WallClock.nowMilliseconds())
    let record = """
      {"event":{"id":"e1","app":"\(WorkerBed.app)","streamer":{"id":"s1","name":"Aiko"},\
      "stream":{"id":"b1","title":"Speedrun night"},"occurred_at":"\(now)","expires_in":300},\
      "shard":0,"generation":1,"segments":1}
      """
    try await bed.emit(
      raw: Array(record.utf8), key: "e1/1.0", topic: "notify-followers.segments")
    _ = try await bed.until("the worker says that its clock is ahead") {
      // The heartbeat says it without an event.
      bed.sink.lines.contains { $0.contains("ahead of Redis', and event e1 has") } ? true : nil
    }
    #expect(try await bed.status("e1")?.expired ?? 0 == 0)
    _ = await ahead.stop()
    let right = try await bed.startWorker { $0.workerID = "worker-2" }
    let status = try await bed.finished("e1")
    #expect(status.accepted == 3 && status.expired == 0)
    #expect(await right.stop())
  }
}
