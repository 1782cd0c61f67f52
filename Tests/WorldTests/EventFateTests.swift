import Assembly
import Kafka
import MemoryKafka
import Model
import Processes
import Record
import Render
import Telemetry
import Testing
import World

/// What becomes of single records: good, bad, stale and repeated.
@Suite struct EventFateTests {

  /// A new template comes with the next version of the workers, and its events reach older ones
  /// while these are replaced: they wait, and what stands behind them in the partition does not.
  @Test func anEventWaitsForAWorkerThatHasItsTemplate() throws {
    try WorldHarness.live(partitions: 1) { harness in
      harness.follow("s1", tokens: tokens(3))
      let old = try harness.startWorker { $0.templateWait = .seconds(600) }
      harness.emit("first", template: "brand-new")
      harness.emit("brief", expiresIn: 2, template: "brand-new")
      harness.emit("second")
      #expect(try harness.finished("second").accepted == 3)
      // Its time is over before it could be sent.
      #expect(try harness.finished("brief").state == .expired)
      #expect(harness.status("first") == nil)
      #expect(harness.lines.contains { $0.contains("waits for a worker that has its template") })
      #expect(harness.stop(old))
      let text = "payload: { aps: { alert: hello } }"
      let template = try Template.compile(
        TemplateFile.parse(Array(text.utf8), name: "brand-new", file: "brand-new.yaml"))
      let new = try harness.startWorker { $0.templates.append(template) }
      #expect(try harness.finished("first").accepted == 3)
      #expect(harness.stop(new))
    }
  }

  /// Who looks for one event's lines finds them, however many other events there are.
  @Test func theLogHasEachStepOfEachEvent() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: tokens(1))
      let worker = try harness.startWorker()
      let events = (0..<30).map { "e-\($0)" }
      for event in events { harness.emit(event) }
      for event in events { #expect(try harness.finished(event).accepted == 1) }
      #expect(harness.stop(worker))
      for event in events {
        let lines = harness.lines.filter { $0.contains("event=\(event) ") }
        for step in ["fan-out started", "fan-out done"] {
          #expect(lines.count { $0.contains("\(step)") } == 1, "\(event): \(step)")
        }
      }
    }
  }

  @Test func passesOverWhatRedisHoldsWrong() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: tokens(5))
      harness.redis(["DEL", "ffd:{u:s1-u0}:bindings"])
      harness.redis(["SET", "ffd:{u:s1-u0}:bindings", "a string"])
      let noToken = "apns:production:\(WorldHarness.app):zz"
      harness.redis(["SADD", "ffd:{u:s1-u1}:bindings", noToken])
      let worker = try harness.startWorker()
      harness.emit("e1")
      let status = try harness.finished("e1")
      #expect(status.accepted == 4)
      #expect(status.skipped == 2)
      #expect(status.isBalanced)
      #expect(harness.stop(worker))
    }
  }

  @Test func buriesAnEventWhoseKeysHoldOtherTypesAndGoesOn() throws {
    try WorldHarness.live(partitions: 1) { harness in
      harness.follow("s1", tokens: tokens(5))
      harness.redis("SET", "ffd:{f:s2}", "a string")
      let worker = try harness.startWorker()
      harness.emit("wrong", streamer: "s2")
      harness.emit("good")
      #expect(try harness.finished("good").accepted == 5)
      #expect(codes(of: harness.deadLetters) == ["unprocessable"])
      #expect(harness.stop(worker))
    }
  }

  /// One of four segments cannot be read: the event says so, and is done once it was sent in again.
  @Test func anEventSaysWhichOfItsSegmentsAreDeadLetters() throws {
    try WorldHarness.live(partitions: 1) { harness in
      harness.followInShards("s1", shards: 4, perShard: 5) { paddedHex($0 << 8 | $1) }
      let shard = harness.keyspace.followerShard(streamer: "s1", generation: 1, shard: 2)
      harness.redis("RENAME", shard, "away")
      harness.redis("SET", shard, "a string")
      let worker = try harness.startWorker()
      harness.emit("e1")
      let status = try harness.finished("e1")
      #expect(status.state == .incomplete && status.deadLettered == 1 && status.settled == 3)
      #expect(status.accepted == 15 && status.isBalanced)
      #expect(harness.redis("SMEMBERS", "ff:{e:e1}:dead_letters") == "1.2")
      #expect(harness.redis("HGET", "ff:{e:e1}", "dead_letter") == "1.2 unprocessable")
      _ = try harness.until("the summary says so") {
        let summary = harness.redis("XREVRANGE", "ff:{stats}:events", "+", "-", "COUNT", "1")
        return summary.contains("incomplete") && summary.contains("dead_lettered\n1") ? true : nil
      }
      _ = try harness.until("the log says so") {
        harness.lines.contains {
          $0.contains("fan-out incomplete") && $0.contains("dead_lettered=1")
        } ? true : nil
      }
      let letter = try #require(harness.deadLetters.first)
      harness.redis("DEL", shard)
      harness.redis("RENAME", "away", shard)
      harness.append(
        letter.value, key: "e1/1.2", headers: letter.headers,
        topic: "notify-followers.segments")
      let done: FanOutStatus = try harness.until("it is done") {
        let status = harness.status("e1")
        return status?.state == .done ? status : nil
      }
      #expect(done.accepted == 20 && done.settled == 4 && done.deadLettered == 0 && done.isBalanced)
      #expect(harness.stop(worker))
    }
  }

  @Test func letsOtherPartitionsGoOnWhileDeadLettersAreRefused() throws {
    try WorldHarness.live { harness in
      harness.follow("s4", tokens: tokens(5))
      // More than both lanes have places for, in another partition than the good one's.
      for _ in 0..<60 { harness.append("{", key: "s1") }
      harness.emit("good", streamer: "s4")
      let broker = harness.world.broker
      broker.fail(next: .produce, with: Array(repeating: .topicAuthorizationFailed, count: 6))
      let worker = try harness.startWorker { $0.limits.events = 2 }
      _ = try harness.until("the dead letters refuse") {
        harness.lines.contains { $0.contains("the dead letters take nothing") } ? true : nil
      }
      #expect(try harness.finished("good").accepted == 5)
      _ = try harness.until("all letters are written") {
        harness.deadLetters.count == 60 ? true : nil
      }
      // The partition rested: of its sixty records only those that had begun could get stuck.
      let stuck = harness.lines.count { $0.contains("the dead letters take nothing") }
      #expect((1...4).contains(stuck))
      #expect(harness.stop(worker))
    }
  }

  private func codes(of letters: [MemoryRecord]) -> [String?] {
    letters.map { letter in
      letter.headers.first { $0.name == "fanfare-error-code" }?.value.map {
        String(decoding: $0, as: UTF8.self)
      }
    }
  }

  private func tokens(_ count: Int) -> [String] {
    (0..<count).map { index in
      let digits = String(index, radix: 16)
      return String(repeating: "a", count: 64 - digits.count) + digits
    }
  }
}
