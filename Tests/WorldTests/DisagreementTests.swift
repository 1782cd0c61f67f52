import Devices
import Pipeline
import Record
import Telemetry
import Testing
import World

/// Redis that forbids something, and clocks that differ: an operator's to mend, not the record's
/// fault. The worker waits, says what for, and goes on.
@Suite struct DisagreementTests {
  /// Commands that the worker needs at different steps: reading, opening, claiming, settling.
  @Test(arguments: ["smembers", "sismember", "sadd", "hincrby", "hset", "xadd", "evalsha"])
  func aMissingPermissionIsWaitedForAndNamed(command: String) throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [paddedHex(1), paddedHex(2)])
      harness.deny([command])
      let worker = try harness.startWorker {
        $0.heartbeatInterval = .milliseconds(100)
      }
      try harness.ready()
      harness.emit("e1")
      _ = try harness.until("the worker says what it waits for") {
        harness.lines.contains { line in
          line.contains("waiting to ") && line.lowercased().contains("noperm")
            && line.lowercased().contains(command)
        } ? true : nil
      }
      // The heartbeat is an HSET itself.
      if command != "hset" {
        _ = try harness.until("the heartbeat says it too") {
          let waits = harness.redis("HGET", "ff:worker:worker-1", "waits_for").lowercased()
          return waits.contains("noperm") && waits.contains(command) ? true : nil
        }
      }
      harness.deny([])
      let status = try harness.finished("e1")
      #expect(status.accepted == 2 && status.pushes == 2 && status.recipients == 2)
      #expect(status.isBalanced && status.recordErrors == 0)
      #expect(harness.summary.duplicates == 0)
      #expect(!harness.lines.contains { $0.contains("record sent to the dead letters") })
      #expect(harness.stop(worker))
    }
  }

  /// The event is young by Redis' clock and by everybody else's.
  @Test func aWorkerWhoseClockIsAheadExpiresNothing() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [paddedHex(1)])
      let ahead = try harness.startWorker {
        $0.deliver.wallClock = harness.clock(ahead: 3_600_000)
      }
      try harness.ready()
      harness.emit("e1", expiresIn: 120)
      _ = try harness.until("the worker says that its clock is ahead") {
        harness.lines.contains { $0.contains("ahead of Redis', and event e1 has") } ? true : nil
      }
      let running = harness.status("e1")
      #expect(running?.state != .expired && running?.expired ?? 0 == 0)
      _ = harness.stop(ahead)
      let right = try harness.startWorker("worker-2")
      let status = try harness.finished("e1")
      #expect(status.accepted == 1 && status.expired == 0)
      #expect(harness.stop(right))
    }
  }

  /// After a few seconds both clocks say that the event has expired.
  @Test func aWorkerWhoseClockIsALittleAheadWaits() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [paddedHex(1)])
      let ahead = try harness.startWorker {
        $0.deliver.wallClock = harness.clock(ahead: 7_000)
      }
      try harness.ready()
      harness.emit("e1", expiresIn: 5)
      #expect(try harness.finished("e1").state == .expired)
      #expect(!harness.lines.contains { $0.contains("gives its partitions up") })
      #expect(harness.stop(ahead))
    }
  }

  /// It lives on, unready, and another worker has its partitions.
  @Test func aWorkerWhoseClockIsAheadGivesItsPartitionsUp() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [paddedHex(1)])
      let ahead = try harness.startWorker {
        $0.deliver.wallClock = harness.clock(ahead: 3_600_000)
        $0.heartbeatInterval = .milliseconds(100)
      }
      try harness.ready()
      harness.emit("e1", expiresIn: 300)
      _ = try harness.until("it has no partitions") {
        let parts = harness.health(ahead).filter { $0.trouble != nil }
        let troubles = parts.compactMap(\.trouble).joined()
        return parts.contains { $0.name == "partitions" } && troubles.contains("s ahead of Redis'")
          ? true : nil
      }
      #expect(harness.lines.contains { $0.contains("it gives its partitions up") })
      #expect(harness.metrics(ahead).contains("\nfanfare_clock_ahead_seconds 3600"))
      let right = try harness.startWorker("worker-2")
      let status = try harness.finished("e1")
      #expect(status.accepted == 1 && status.expired == 0)
      #expect(harness.summary.duplicates == 0)
      #expect(harness.stop(right))
      _ = harness.stop(ahead)
    }
  }

  /// Every good event seems to come from the future.
  @Test func aWorkerWhoseClockIsBehindRefusesNothing() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [paddedHex(1)])
      let behind = try harness.startWorker {
        $0.deliver.wallClock = harness.clock(ahead: -660_000)
        $0.heartbeatInterval = .milliseconds(100)
      }
      try harness.ready()
      harness.emit("e1", expiresIn: 120)
      let status = try harness.finished("e1")
      #expect(status.accepted == 1 && status.isBalanced)
      #expect(!harness.lines.contains { $0.contains("record sent to the dead letters") })
      #expect(
        harness.lines.contains { $0.contains("clock is behind Redis'") && $0.contains("event=e1") })
      _ = try harness.until("the heartbeat says how far") {
        let ahead = harness.redis("HGET", "ff:worker:worker-1", "clock_ahead_ms")
        return Int(ahead).map { abs($0 + 660_000) < 60_000 ? true : nil } ?? nil
      }
      // It is early by Redis' clock too.
      harness.emit("e2", occurredAt: harness.now + 3_600_000)
      _ = try harness.until("it goes to the dead letters") {
        harness.lines.contains {
          $0.contains("record sent to the dead letters") && $0.contains("occurred_in_future")
        } ? true : nil
      }
      #expect(harness.stop(behind))
    }
  }

  /// It was opened, and its record is a dead letter after that.
  @Test func anEventThatIsEarlyForThisWorkerAloneSaysWhatItIsWithout() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [paddedHex(1)])
      let shard = harness.redis("KEYS", "ffd:{f:s1:*}")
      harness.redis("SET", shard, "a string")
      let behind = try harness.startWorker {
        $0.deliver.wallClock = harness.clock(ahead: -660_000)
      }
      harness.emit("e1")
      let status = try harness.finished("e1")
      #expect(status.state == .incomplete && status.settled == 0)
      #expect(harness.stop(behind))
    }
  }

  /// A segment of an event that others have opened.
  @Test func aWorkerWhoseClockIsAheadLeavesSegmentsAlone() throws {
    try WorldHarness.live { harness in
      harness.followInShards("s1", shards: 1, perShard: 3) { _, index in paddedHex(index) }
      let ahead = try harness.startWorker {
        $0.deliver.wallClock = harness.clock(ahead: 3_600_000)
      }
      try harness.ready()
      let now = WallClock.rfc3339(harness.now)
      let record = """
        {"event":{"id":"e1","app":"\(WorldHarness.app)","streamer":{"id":"s1","name":"Aiko"},\
        "stream":{"id":"b1","title":"Speedrun night"},"occurred_at":"\(now)","expires_in":300},\
        "shard":0,"generation":1,"segments":1}
        """
      harness.append(
        record, key: "e1/1.0", topic: "notify-followers.segments")
      _ = try harness.until("the worker says that its clock is ahead") {
        // The heartbeat says it without an event.
        harness.lines.contains { $0.contains("ahead of Redis', and event e1 has") } ? true : nil
      }
      #expect(harness.status("e1")?.expired ?? 0 == 0)
      _ = harness.stop(ahead)
      let right = try harness.startWorker("worker-2")
      let status = try harness.finished("e1")
      #expect(status.accepted == 3 && status.expired == 0)
      #expect(harness.stop(right))
    }
  }
}
