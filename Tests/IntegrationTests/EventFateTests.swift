import Assembly
import Kafka
import Model
import Processes
import Record
import Render
import ServerProcesses
import Telemetry
import TestBed
import Testing

/// What becomes of single records: good, bad, stale and repeated.
@Suite(.serialized) struct EventFateTests {
  @Test func handlesEachKindOfEventAndLetsNoneDisturbAnother() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: tokens(20))
    try await bed.redis.set(["SADD", "followers:plain1", "s1-u0", "s1-u1"])
    let worker = try await bed.startWorker { $0.expand.plainSetKey = "followers:{streamer}" }

    try await bed.emit(raw: Array("{\"id\":".utf8), key: "s1")
    try await bed.emit(raw: nil, key: "s1")
    try await bed.emit(raw: [UInt8](repeating: 0x20, count: 70_000), key: "s1")
    try await bed.emit("bad-template", template: "no-such-template")
    try await bed.emit("stale", expiresIn: 1, occurredAt: WallClock.nowMilliseconds() - 5_000)
    try await bed.emit("nobody", streamer: "unknown")
    try await bed.emit("plain", streamer: "plain1")
    try await bed.emit("good")
    let good = try await bed.finished("good")
    #expect(good.accepted == 20 && good.isBalanced)
    #expect(try await bed.finished("stale").state == .expired)
    let nobody = try await bed.finished("nobody")
    #expect(nobody.pushes == 0 && nobody.segments == 0)
    for what in ["fan-out started", "fan-out done"] {
      let lines = bed.sink.lines.filter { $0.contains(what) && $0.contains("\"nobody\"") }
      #expect(lines.count == 1, "\(what)")
      #expect(lines.allSatisfy { what == "fan-out started" || $0.contains("\"pushes\":0") })
    }
    #expect(try await bed.finished("plain").accepted == 2)

    // The same id once more, in a record of its own: counted and dropped.
    try await bed.emit("good")
    try await bed.emit("after")
    _ = try await bed.finished("after")
    let total = try await bed.until("the duplicate is counted") {
      let total = try bed.redis.cli("HGET", "ff:{stats}:total", "events_duplicate")
      return total == "1" ? total : nil
    }
    #expect(total == "1")
    #expect(await bed.simulator.summary().accepted == 42)
    #expect(await worker.stop())

    let letters = try deadLetters(bed, count: 4)
    let codes = letters.map { letter in
      letter.headers.first { $0.name == "fanfare-error-code" }?.value.map {
        String(decoding: $0, as: UTF8.self)
      }
    }
    #expect(Set(codes) == ["not_json", "tombstone", "too_large", "unknown_template"])
    let broken = letters.first { $0.value == Array("{\"id\":".utf8) }
    #expect(broken?.headers.contains { $0.name == "fanfare-source" } == true)
    #expect(broken?.key == Array("s1".utf8))
  }

  /// A new template comes with the next version of the workers, and its events reach older ones
  /// while these are replaced: they wait, and what stands behind them in the partition does not.
  @Test func anEventWaitsForAWorkerThatHasItsTemplate() async throws {
    let bed = try await WorkerBed(partitions: 1)
    try await bed.follow("s1", tokens: tokens(3))
    let old = try await bed.startWorker { $0.templateWait = .seconds(600) }
    try await bed.emit("first", template: "brand-new")
    try await bed.emit("brief", expiresIn: 2, template: "brand-new")
    try await bed.emit("second")
    #expect(try await bed.finished("second").accepted == 3)
    // Its time is over before it could be sent.
    #expect(try await bed.finished("brief").state == .expired)
    #expect(try await bed.status("first") == nil)
    #expect(bed.sink.lines.contains { $0.contains("waits for a worker that has its template") })
    #expect(await old.stop())
    let text = "payload: { aps: { alert: hello } }"
    let template = try Template.compile(
      TemplateFile.parse(Array(text.utf8), name: "brand-new", file: "brand-new.yaml"))
    let new = try await bed.startWorker { $0.templates.append(template) }
    #expect(try await bed.finished("first").accepted == 3)
    #expect(await new.stop())
  }

  /// Who looks for one event's lines finds them, however many other events there are.
  @Test func theLogHasEachStepOfEachEvent() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: tokens(1))
    let worker = try await bed.startWorker()
    let events = (0..<30).map { "e-\($0)" }
    for event in events { try await bed.emit(event) }
    for event in events { #expect(try await bed.finished(event).accepted == 1) }
    #expect(await worker.stop())
    for event in events {
      let lines = bed.sink.lines.filter { $0.contains("\"event\":\"\(event)\"") }
      for step in ["fan-out started", "fan-out done"] {
        #expect(lines.count { $0.contains("\"msg\":\"\(step)\"") } == 1, "\(event): \(step)")
      }
    }
  }

  @Test func passesOverWhatRedisHoldsWrong() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: tokens(5))
    try await bed.redis.set(["DEL", "ffd:{u:s1-u0}:bindings"])
    try await bed.redis.set(["SET", "ffd:{u:s1-u0}:bindings", "a string"])
    let noToken = "apns:production:\(WorkerBed.app):zz"
    try await bed.redis.set(["SADD", "ffd:{u:s1-u1}:bindings", noToken])
    let worker = try await bed.startWorker()
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.accepted == 4)
    #expect(status.skipped == 2)
    #expect(status.isBalanced)
    #expect(await worker.stop())
  }

  @Test func buriesAnEventWhoseKeysHoldOtherTypesAndGoesOn() async throws {
    let bed = try await WorkerBed(partitions: 1)
    try await bed.follow("s1", tokens: tokens(5))
    _ = try bed.redis.cli("SET", "ffd:{f:s2}", "a string")
    let worker = try await bed.startWorker()
    try await bed.emit("wrong", streamer: "s2")
    try await bed.emit("good")
    #expect(try await bed.finished("good").accepted == 5)
    #expect(try codes(of: deadLetters(bed, count: 1)) == ["unprocessable"])
    #expect(await worker.stop())
  }

  /// One of four segments cannot be read: the event says so, and is done once it was sent in again.
  @Test func anEventSaysWhichOfItsSegmentsAreDeadLetters() async throws {
    let bed = try await WorkerBed(redis: RedisServerProcess(), partitions: 1)
    try await bed.followInShards("s1", shards: 4, perShard: 5) { paddedHex($0 << 8 | $1) }
    let shard = bed.keyspace.followerShard(streamer: "s1", generation: 1, shard: 2)
    _ = try bed.redis.cli("RENAME", shard, "away")
    _ = try bed.redis.cli("SET", shard, "a string")
    let worker = try await bed.startWorker()
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.state == .incomplete && status.deadLettered == 1 && status.settled == 3)
    #expect(status.accepted == 15 && status.isBalanced)
    #expect(try bed.redis.cli("SMEMBERS", "ff:{e:e1}:dead_letters") == "1.2")
    #expect(try bed.redis.cli("HGET", "ff:{e:e1}", "dead_letter") == "1.2 unprocessable")
    _ = try await bed.until("the summary says so") {
      let summary = try bed.redis.cli("XREVRANGE", "ff:{stats}:events", "+", "-", "COUNT", "1")
      return summary.contains("incomplete") && summary.contains("dead_lettered\n1") ? true : nil
    }
    _ = try await bed.until("the log says so") {
      bed.sink.lines.contains {
        $0.contains("fan-out incomplete") && $0.contains(#""dead_lettered":1"#)
      } ? true : nil
    }
    let letter = try #require(try deadLetters(bed, count: 1).first)
    _ = try bed.redis.cli("DEL", shard)
    _ = try bed.redis.cli("RENAME", "away", shard)
    try await bed.emit(
      raw: letter.value, key: "e1/1.2", headers: letter.headers, topic: "notify-followers.segments")
    let done: FanOutStatus = try await bed.until("it is done") {
      let status = try await bed.status("e1")
      return status?.state == .done ? status : nil
    }
    #expect(done.accepted == 20 && done.settled == 4 && done.deadLettered == 0 && done.isBalanced)
    #expect(await worker.stop())
  }

  @Test func letsOtherPartitionsGoOnWhileDeadLettersAreRefused() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s4", tokens: tokens(5))
    // More than both lanes have places for, in another partition than the good one's.
    for _ in 0..<60 { try await bed.emit(raw: Array("{".utf8), key: "s1") }
    try await bed.emit("good", streamer: "s4")
    let broker = try #require(bed.broker)
    broker.fail(next: .produce, with: Array(repeating: .topicAuthorizationFailed, count: 6))
    let worker = try await bed.startWorker { $0.limits.events = 2 }
    _ = try await bed.until("the dead letters refuse") {
      bed.sink.lines.contains { $0.contains("the dead letters take nothing") } ? true : nil
    }
    #expect(try await bed.finished("good").accepted == 5)
    let letters = try deadLetters(bed, count: 60)
    #expect(letters.count == 60)
    // The partition rested: of its sixty records only those that had begun could get stuck.
    let stuck = bed.sink.lines.count { $0.contains("the dead letters take nothing") }
    #expect((1...4).contains(stuck))
    #expect(await worker.stop())
  }

  private func codes(of letters: [KafkaMessage]) -> [String?] {
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

  private func deadLetters(_ bed: WorkerBed, count: Int) throws -> [KafkaMessage] {
    var options = KafkaOptions(bootstrapServers: bed.bootstrapServers)
    options.group = "reader"
    let consumer = try KafkaConsumer(options, topics: ["notify-followers.dead-letters"]) { _ in }
    try consumer.subscribe()
    var letters: [KafkaMessage] = []
    var failures: [KafkaError] = []
    for _ in 0..<600 where letters.count < count {
      switch consumer.poll(timeout: .milliseconds(100)) {
      case .message(let message): letters.append(message)
      case .error(let error): failures.append(error)
      default: break
      }
    }
    consumer.close(timeout: .seconds(2))
    guard letters.count >= count else {
      throw LocalRunError(.failed, "\(letters.count) of \(count) dead letters came: \(failures)")
    }
    return letters
  }
}

extension RedisServerProcess {
  func set(_ command: [String]) async throws { _ = try cli(command) }
}
