import Kafka
import Keyspace
import Model
import Pipeline
import Record
import Rules
import Testing
import World

/// Scheduled events whose records fail, come twice, or come back from the dead letters.
@Suite struct ScheduledLetterTests {
  /// An event to be sent so long from now, and when that is.
  private static func emit(
    _ id: String, in delay: Duration, headers: [KafkaHeader] = [], _ harness: WorldHarness
  ) throws -> Int64 {
    let due = harness.now + delay.wholeMilliseconds
    harness.append(document(id, due, harness), key: "s1", headers: headers)
    try harness.isScheduled(id)
    return due
  }

  private static func document(_ id: String, _ due: Int64, _ harness: WorldHarness) -> String {
    harness.world.document(
      id, streamer: "s1", more: #""send_at":"\#(SendTime.at(due).text)","#)
  }

  /// A worker for the one follower of `s1`.
  private static func startWorker(
    _ harness: WorldHarness, _ change: (inout PipelineOptions) -> Void = { _ in }
  ) throws -> WorldWorker {
    harness.follow("s1", tokens: [paddedHex(1)])
    let worker = try harness.startWorker(change)
    try harness.ready()
    return worker
  }

  /// Schedules e1. Its worker goes, and one without templates comes until it has refused the
  /// release. Returns when e1 was due.
  private static func refusedRelease(_ harness: WorldHarness) throws -> Int64 {
    let first = try startWorker(harness)
    let due = try emit("e1", in: .seconds(20), harness)
    #expect(harness.stop(first))
    let worker = try harness.startWorker("without-templates") { $0.templates = [] }
    try harness.wait(for: "the release of e1 is a dead letter") {
      harness.status("e1")?.releaseDeadLetter == "unknown_template"
    }
    #expect(harness.stop(worker))
    return due
  }

  /// The event says so meanwhile, and its letter sent in again is its release still.
  @Test func aReleaseIsSentInAgain() throws {
    try WorldHarness.live { harness in
      let due = try Self.refusedRelease(harness)
      #expect(harness.status("e1")?.state == .scheduled)
      let listed = try #require(Int64(harness.listed("e1")))
      #expect(listed >= due + 900_000 && listed < due + 960_000)
      let letter = try #require(harness.deadLetters.first)
      let second = try harness.startWorker("worker-2")
      harness.append(letter.value, key: "s1", headers: letter.headers)
      let status = try harness.finished("e1")
      #expect(status.state == .done && status.accepted == 1 && status.releaseDeadLetter.isEmpty)
      #expect(harness.summary.accepted == 1)
      #expect(harness.stop(second))
    }
  }

  /// Nobody sends it in again: the event comes to its end all the same.
  @Test func aReleaseThatIsLeftExpires() throws {
    try WorldHarness.live { harness in
      let due = try Self.refusedRelease(harness)
      harness.pass(.milliseconds(due + 890_000 - harness.now))
      let second = try harness.startWorker("worker-2")
      let status = try harness.finished("e1")
      #expect(status.state == .expired && harness.summary.requests == 0)
      #expect(harness.listed("e1").isEmpty)
      #expect(harness.redis("EXISTS", harness.keyspace.document(event: "e1")) == "0")
      #expect(harness.stop(second))
    }
  }

  /// Before its time the event's own letter waits for it.
  @Test func theEventsOwnLetterWaitsForItsTime() throws {
    try WorldHarness.live { harness in
      let worker = try Self.startWorker(harness)
      let due = try Self.emit("e1", in: .seconds(40), harness)
      let source = try #require(harness.status("e1")?.source)
      harness.append(
        Self.document("e1", due, harness), key: "s1",
        headers: [KafkaHeader(name: "fanfare-source", value: Array(source.utf8))])
      harness.pass(.seconds(20))
      #expect(harness.status("e1")?.state == .scheduled && harness.summary.requests == 0)
      let status = try harness.finished("e1")
      #expect(status.state == .done && status.accepted == 1 && status.firstPushAt >= Int(due))
      #expect(harness.summary.accepted == 1)
      #expect(harness.redis("HGET", harness.keyspace.statsTotal, "events_duplicate") == "")
      #expect(harness.stop(worker))
    }
  }

  /// Nothing was sent of the event: its second record must not use up the streamer's cooldown.
  @Test(arguments: [true, false])
  func aDuplicateKeepsNoOtherEventBack(hasTime: Bool) throws {
    try WorldHarness.live { harness in
      let worker = try Self.startWorker(harness) { $0.record.cooldown = .seconds(60) }
      let due = try Self.emit("e1", in: .seconds(600), harness)
      let duplicate =
        hasTime
        ? Self.document("e1", due, harness) : harness.world.document("e1", streamer: "s1")
      harness.append(duplicate, key: "s1")
      try harness.wait(for: "the duplicate is dropped") {
        harness.hasSaid("duplicate event dropped", "e1")
      }
      harness.pass(.seconds(2))
      harness.emit("e2")
      #expect(try harness.finished("e2").accepted == 1)
      #expect(harness.status("e1")?.state == .scheduled)
      #expect(harness.redis("HGET", harness.keyspace.statsTotal, "events_duplicate") == "1")
      #expect(harness.stop(worker))
    }
  }

  /// A release says what the first record said: the trace goes on, and its append is no new one.
  @Test func aReleaseCarriesTheTraceAndTheAppend() throws {
    let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    try WorldHarness.live { harness in
      let worker = try Self.startWorker(harness)
      let before = harness.now
      _ = try Self.emit(
        "e1", in: .seconds(20), headers: [KafkaHeader("traceparent", traceparent)], harness)
      let after = harness.now
      #expect(try harness.finished("e1").accepted == 1)
      let topic = harness.world.ingest.eventsTopic
      let records = harness.world.partitions(of: topic).flatMap {
        harness.world.broker.records(of: $0).map(\.record)
      }
      func value(_ name: String, _ headers: [KafkaHeader]) -> String? {
        headers.first { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
      }
      let release = try #require(records.first { value("fanfare-due", $0.headers) != nil })
      #expect(value("traceparent", release.headers) == traceparent)
      let appended = Int64(value("fanfare-appended", release.headers) ?? "") ?? 0
      #expect(appended >= before && appended <= after)
      #expect(harness.stop(worker))
    }
  }

  /// A time that is past means at once: no event is late by it.
  @Test func aTimeThatIsPastMakesNoEventOld() throws {
    try WorldHarness.live { harness in
      let worker = try Self.startWorker(harness)
      let past = SendTime.at(harness.now - 3_600_000)
      harness.emit("e1", expiresIn: 7_200, more: #""send_at":"\#(past.text)","#)
      #expect(try harness.finished("e1").accepted == 1)
      let line = try #require(
        harness.metrics(worker).split(separator: "\n").first {
          $0.hasPrefix("fanfare_event_age_seconds_sum ")
        })
      let age = try #require(line.split(separator: " ").last.flatMap { Double($0) })
      #expect(age < 600)
      #expect(harness.stop(worker))
    }
  }
}

/// Waves of an event for a local hour, of which some were missed.
@Suite struct MissedWaveTests {
  private static func startWorker(
    _ harness: WorldHarness, _ name: String, hasTemplates: Bool = true
  ) throws -> WorldWorker {
    let rules = RecipientRules(localZones: TimeZones(["Europe/Berlin": .fixed(secondsEast: 3600)]))
    return try harness.startWorker(name) {
      $0.expand.rules = rules
      if !hasTemplates { $0.templates = [] }
    }
  }

  /// An event whose first wave is due at that time; its hour by each reader's clock.
  private static func emit(_ id: String, at first: Int64, _ harness: WorldHarness) -> Int64 {
    let local = first + 14 * 3_600_000
    harness.emit(id, more: #""send_at":{"local":"\#(SendTime.local(local).text)"},"#)
    return local
  }

  private static func pass(to moment: Int64, _ harness: WorldHarness) {
    harness.pass(.milliseconds(max(0, moment - harness.now)))
  }

  private static func waits(for waves: Int, _ harness: WorldHarness) throws {
    try harness.wait(for: "\(waves) waves are planned") {
      harness.status("e1")?[.published] == waves
    }
  }

  /// The dead letter of one wave's release does not end the event: the next wave follows.
  @Test func theNextWaveFollowsADeadLetter() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [paddedHex(1)])
      let first = try Self.startWorker(harness, "worker-1")
      try harness.ready()
      let begins = (harness.now / 60_000 + 10) * 60_000
      let local = Self.emit("e1", at: begins, harness)
      try harness.wait(for: "it is scheduled") { !harness.listed("e1").isEmpty }
      #expect(harness.stop(first))
      Self.pass(to: begins, harness)
      let second = try Self.startWorker(harness, "worker-2", hasTemplates: false)
      try harness.wait(for: "the release is a dead letter") {
        harness.status("e1")?.releaseDeadLetter == "unknown_template"
      }
      let next = LocalWaves.due(1, local: local)
      #expect(harness.listed("e1") == "\(next)")
      #expect(harness.stop(second))
      Self.pass(to: next, harness)
      let third = try Self.startWorker(harness, "worker-3")
      try Self.waits(for: 2, harness)
      #expect(harness.status("e1")?.releaseDeadLetter == "")
      #expect(harness.stop(third))
    }
  }

  /// The hour has come in the east already when the event is read.
  @Test func laterWavesFollowThoseThatWereDueAtOnce() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [paddedHex(1)])
      let first = try Self.startWorker(harness, "worker-1")
      try harness.ready()
      let local = Self.emit("e1", at: (harness.now / 60_000 - 1) * 60_000, harness)
      try Self.waits(for: 1, harness)
      #expect(harness.stop(first))
      Self.pass(to: LocalWaves.due(1, local: local), harness)
      let second = try Self.startWorker(harness, "worker-2")
      try Self.waits(for: 2, harness)
      #expect(harness.stop(second))
    }
  }
}
