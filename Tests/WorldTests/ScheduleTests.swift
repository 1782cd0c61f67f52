import APNsSimulator
import Kafka
import Keyspace
import Model
import Pipeline
import Record
import Rules
import Telemetry
import Testing
import World

/// Events that are to be sent later, from the record to the phone, while servers and workers fail.
@Suite struct ScheduleTests {
  private static func startWorker(
    _ harness: WorldHarness, _ name: String = "worker-1",
    _ change: (inout PipelineOptions) -> Void = { _ in }
  ) throws -> WorldWorker {
    try harness.startWorker(name) {
      $0.straggleAfter = .milliseconds(500)
      $0.straggleDelay = .milliseconds(500)
      change(&$0)
    }
  }

  private static func member(_ time: SendTime) -> String {
    switch time {
    case .at: #""send_at":"\#(time.text)","#
    case .local: #""send_at":{"local":"\#(time.text)"},"#
    }
  }

  /// An event to be sent so long from now, and when that is.
  @discardableResult
  private static func emit(
    _ id: String, in delay: Duration, expiresIn: Int = 900, _ harness: WorldHarness
  ) -> Int64 {
    let due = harness.now + delay.wholeMilliseconds
    harness.emit(id, expiresIn: expiresIn, more: member(.at(due)))
    return due
  }

  private static func reschedule(
    _ event: String, to due: Int64, _ harness: WorldHarness
  ) throws -> RescheduleResult {
    let keyspace = harness.keyspace
    return try harness.withRedis {
      try await RecordStage(redis: $0, keyspace: keyspace)
        .reschedule(event, to: .at(due), ahead: .seconds(7 * 86_400))
    }
  }

  /// Whether all came to an end, each push once, and none before its time.
  private static func check(
    _ status: FanOutStatus, pushes: Int, from due: Int64, _ harness: WorldHarness
  ) {
    #expect(status.state == .done && status.isBalanced && status.accepted == pushes)
    #expect(harness.summary.accepted == pushes && harness.summary.duplicates == 0)
    #expect(status.firstPushAt >= Int(due))
    #expect(harness.deadLetters.isEmpty)
    #expect(harness.redis("HGET", harness.keyspace.statsTotal, "events") == "1")
    #expect(harness.redis("HGET", harness.keyspace.statsTotal, "events_duplicate") == "")
  }

  /// In one segment and in many. The offset is committed meanwhile, and each second costs no
  /// record.
  @Test(arguments: [1, 8])
  func anEventIsSentAtItsTime(shards: Int) throws {
    try WorldHarness.live { harness in
      harness.followInShards("s1", shards: shards, perShard: 20) { paddedHex($0 << 16 | $1) }
      let worker = try Self.startWorker(harness)
      try harness.ready()
      let due = Self.emit("e1", in: .seconds(120), harness)
      try harness.isScheduled("e1")
      harness.pass(.seconds(60))
      #expect(harness.summary.requests == 0 && harness.status("e1")?.state == .scheduled)
      #expect(harness.records(of: harness.world.ingest.eventsTopic) == 1)
      let status = try harness.finished("e1")
      Self.check(status, pushes: 20 * shards, from: due, harness)
      #expect(status.firstPushAt < Int(due) + 5_000)
      #expect(harness.records(of: harness.world.ingest.eventsTopic) == 2)
      #expect(harness.redis("ZCARD", harness.keyspace.statsScheduled) == "0")
      #expect(harness.stop(worker))
    }
  }

  /// One dies between the note and the release; another one releases it.
  @Test func aWorkerThatDiesTakesNoEventWithIt() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [paddedHex(1), paddedHex(2)])
      let first = try Self.startWorker(harness)
      try harness.ready()
      let due = Self.emit("e1", in: .seconds(30), harness)
      try harness.isScheduled("e1")
      harness.pass(.seconds(10))
      // It had taken the event, and died before it wrote: its lease is over later.
      let lease = due + 30_000
      harness.redis("ZADD", harness.keyspace.statsScheduled, "\(lease)", "e1")
      first.kill()
      let second = try Self.startWorker(harness, "worker-2")
      let status = try harness.finished("e1")
      Self.check(status, pushes: 2, from: lease, harness)
      #expect(harness.stop(second))
    }
  }

  /// Two workers, of which one lost its lease while Kafka was away: the second record is dropped.
  @Test func twoReleasesSendOnce() throws {
    try WorldHarness.live { harness in
      harness.followInShards("s1", shards: 4, perShard: 20) { paddedHex($0 << 16 | $1) }
      let workers = try ["worker-1", "worker-2"].map { try Self.startWorker(harness, $0) }
      try harness.ready(workers: 2)
      let due = Self.emit("e1", in: .seconds(30), harness)
      try harness.isScheduled("e1")
      let source = try #require(harness.status("e1")?.source)
      for delay in [0, 1, 2] {
        // As it would have written it: too early, in time, and late.
        let document = harness.world.document(
          "e1", streamer: "s1", more: Self.member(.at(due)))
        harness.append(
          document, key: "s1",
          headers: [KafkaHeader(name: "fanfare-due", value: Array(source.utf8))])
        harness.pass(.seconds(20 * delay))
      }
      let status = try harness.finished("e1")
      Self.check(status, pushes: 80, from: due, harness)
      harness.pass(.seconds(60))
      #expect(harness.summary.accepted == 80)
      for worker in workers { #expect(harness.stop(worker)) }
    }
  }

  /// Nobody is there when it is due: it is sent late, unless it has expired.
  @Test(arguments: [(900, FanOutStatus.State.done), (60, .expired)])
  func afterAnOutageItIsSentUnlessItExpired(lifetime: Int, end: FanOutStatus.State) throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [paddedHex(1)])
      let first = try Self.startWorker(harness)
      try harness.ready()
      Self.emit("e1", in: .seconds(60), expiresIn: lifetime, harness)
      try harness.isScheduled("e1")
      #expect(harness.stop(first))
      harness.pass(.seconds(180))
      let second = try Self.startWorker(harness, "worker-2")
      let status = try harness.finished("e1")
      #expect(status.state == end && status.accepted == (end == .done ? 1 : 0))
      #expect(harness.summary.accepted == status.accepted)
      #expect(harness.stop(second))
    }
  }

  /// It is put off while its release is in Kafka, and sent once, at its new time.
  @Test func aNewTimeWinsOverARelease() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [paddedHex(1)])
      let first = try Self.startWorker(harness)
      try harness.ready()
      let due = Self.emit("e1", in: .seconds(10), harness)
      try harness.isScheduled("e1")
      #expect(harness.stop(first))
      let source = try #require(harness.status("e1")?.source)
      harness.append(
        harness.world.document("e1", streamer: "s1", more: Self.member(.at(due))), key: "s1",
        headers: [KafkaHeader(name: "fanfare-due", value: Array(source.utf8))])
      harness.pass(.seconds(20))
      let later = harness.now + 100_000
      #expect(try Self.reschedule("e1", to: later, harness) == .done)
      let second = try Self.startWorker(harness, "worker-2")
      harness.pass(.seconds(60))
      #expect(harness.status("e1")?.state == .scheduled && harness.summary.requests == 0)
      let status = try harness.finished("e1")
      Self.check(status, pushes: 1, from: later, harness)
      #expect(try Self.reschedule("e1", to: later, harness) == .begun("done"))
      #expect(harness.stop(second))
    }
  }

  /// It ends within seconds, and nobody gets it, also where the release is there already.
  @Test func whatIsCancelledIsNotSent() throws {
    try WorldHarness.live { harness in
      harness.followInShards("s1", shards: 4, perShard: 20) { paddedHex($0 << 16 | $1) }
      let worker = try Self.startWorker(harness)
      try harness.ready()
      Self.emit("e1", in: .seconds(3_000), harness)
      try harness.isScheduled("e1")
      #expect(try harness.order(.cancelled, "e1"))
      let status = try harness.finished("e1")
      #expect(status.state == .done && status.halt == .cancelled && status.pushes == 0)
      #expect(harness.summary.requests == 0)
      #expect(harness.redis("HGET", harness.keyspace.statsTotal, "events_stopped") == "1")
      #expect(harness.stop(worker))
    }
  }

  /// At its time it begins, and waits as any paused fan-out.
  @Test func whatIsPausedWaitsBeyondItsTime() throws {
    try WorldHarness.live { harness in
      harness.followInShards("s1", shards: 4, perShard: 20) { paddedHex($0 << 16 | $1) }
      let worker = try Self.startWorker(harness)
      try harness.ready()
      let due = Self.emit("e1", in: .seconds(20), harness)
      try harness.isScheduled("e1")
      #expect(try harness.order(.paused, "e1"))
      harness.pass(.seconds(60))
      #expect(harness.summary.requests == 0 && harness.status("e1")?.state == .running)
      #expect(try harness.order(nil, "e1"))
      Self.check(try harness.finished("e1"), pushes: 80, from: due + 60_000 - 20_000, harness)
      #expect(harness.stop(worker))
    }
  }

  /// Redis' clock counts: a worker that is ahead or behind sends at the same time.
  @Test(arguments: [-300_000, 300_000] as [Int64])
  func aWorkersClockDoesNotCount(ahead: Int64) throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [paddedHex(1)])
      let clock = harness.clock(ahead: ahead)
      let worker = try Self.startWorker(harness) { $0.wallClock = clock }
      try harness.ready()
      let due = Self.emit("e1", in: .seconds(60), harness)
      try harness.isScheduled("e1")
      harness.pass(.seconds(40))
      #expect(harness.summary.requests == 0)
      let status = try harness.finished("e1")
      #expect(status.accepted == 1 && status.firstPushAt >= Int(due + ahead))
      #expect(harness.stop(worker))
    }
  }

  /// A second event of the id is a duplicate, and the first is sent.
  @Test func aDuplicateDoesNotBegin() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [paddedHex(1)])
      let worker = try Self.startWorker(harness)
      try harness.ready()
      Self.emit("e1", in: .seconds(40), harness)
      try harness.isScheduled("e1")
      harness.emit("e1")
      harness.pass(.seconds(10))
      #expect(harness.status("e1")?.state == .scheduled && harness.summary.requests == 0)
      let status = try harness.finished("e1")
      #expect(status.accepted == 1 && harness.summary.accepted == 1)
      #expect(harness.redis("HGET", harness.keyspace.statsTotal, "events_duplicate") == "1")
      #expect(harness.stop(worker))
    }
  }
}

/// An event for an hour of the readers' own clocks.
@Suite struct LocalHourTests {
  private static let rules = RecipientRules(
    localZones: TimeZones(
      [
        "Asia/Tokyo": .fixed(secondsEast: 9 * 3600), "Europe/Berlin": .fixed(secondsEast: 3600),
        "America/New_York": .fixed(secondsEast: -5 * 3600),
      ]))
  private static let hour: Int64 = 3_600_000

  /// Followers of four zones by turns, the last of which is not known; and when each is told, by
  /// the name of the zone.
  private static let zones = ["Asia/Tokyo", "Europe/Berlin", "America/New_York", "Mars/Olympus"]
  private static let offsets: [Int64] = [9, 1, -5, 0]

  private static func follow(_ harness: WorldHarness, count: Int, shards: Int) {
    let users = (0..<count).map { "s1-u\($0)" }
    for (index, user) in users.enumerated() {
      harness.bind(paddedHex(index + 1), to: user)
      harness.redis(
        "HSET", harness.keyspace.profile(user: user), "tz", zones[index % zones.count])
    }
    WorldAudience(harness.world).follow("s1", users: users, shards: shards)
  }

  private static func startWorker(
    _ harness: WorldHarness, _ name: String = "worker-1"
  ) throws -> WorldWorker {
    try harness.startWorker(name) {
      $0.expand.rules = rules
      $0.straggleAfter = .milliseconds(500)
      $0.straggleDelay = .milliseconds(500)
    }
  }

  /// A full minute some hours ahead of now, by the first clock.
  private static func emit(_ id: String, _ harness: WorldHarness) -> Int64 {
    let local = (harness.now / 60_000 + 15 * 60) * 60_000
    let time = SendTime.local(local)
    harness.emit(
      id, expiresIn: 600, more: #""send_at":{"local":"\#(time.text)"},"#)
    return local
  }

  /// Lets hours pass in which no worker is there: they would cost the test minutes.
  private static func pass(to moment: Int64, _ harness: WorldHarness) {
    harness.pass(.milliseconds(max(0, moment - harness.now)))
  }

  /// A worker comes for a few minutes; says what was accepted when it goes.
  private static func work(
    _ harness: WorldHarness, from moment: Int64, _ body: () throws -> Void = {}
  ) throws -> Int {
    pass(to: moment, harness)
    let worker = try startWorker(harness)
    try harness.ready()
    try body()
    harness.pass(.seconds(60))
    #expect(harness.stop(worker))
    return harness.summary.accepted
  }

  @Test(arguments: [(1, 40), (128, 256)])
  func eachReaderIsToldAtTheHour(shards: Int, count: Int) throws {
    try WorldHarness.live { harness in
      Self.follow(harness, count: count, shards: shards)
      var local: Int64 = 0
      #expect(try Self.work(harness, from: 0) { local = Self.emit("e1", harness) } == 0)
      #expect(harness.status("e1")?.state == .scheduled)
      var told = 0
      for offset in Self.offsets.sorted(by: >) {
        let due = local - offset * Self.hour
        let before = try Self.work(harness, from: due - 180_000)
        #expect(before == told, "nobody before the hour at \(offset)")
        told += count / Self.zones.count
        #expect(try Self.work(harness, from: due) == told, "\(offset)")
      }
      #expect(harness.status("e1")?.state == .running)
      #expect(try Self.work(harness, from: local + 12 * Self.hour) == count)
      let status = try harness.finished("e1")
      #expect(status.state == .done && status.isBalanced && status.accepted == count)
      #expect(status.recipients == count && status.pushes == count)
      #expect(status.segments == shards * LocalWaves.count && status.settled == status.segments)
      #expect(harness.summary.duplicates == 0 && harness.deadLetters.isEmpty)
      #expect(harness.redis("HGET", harness.keyspace.statsTotal, "events") == "1")
      #expect(harness.redis("HGET", harness.keyspace.statsTotal, "accepted") == "\(count)")
      #expect(harness.redis("ZCARD", harness.keyspace.statsScheduled) == "0")
    }
  }

  /// An hour that nobody kept is late, and its pushes expire.
  @Test func aWaveThatIsMissedExpires() throws {
    try WorldHarness.live { harness in
      Self.follow(harness, count: 40, shards: 2)
      var local: Int64 = 0
      _ = try Self.work(harness, from: 0) { local = Self.emit("e1", harness) }
      #expect(try Self.work(harness, from: local - 9 * Self.hour) == 10)
      // Berlin's was an hour and twenty minutes ago.
      #expect(try Self.work(harness, from: local + 300_000) == 20)
      #expect(try Self.work(harness, from: local + 5 * Self.hour) == 30)
      #expect(try Self.work(harness, from: local + 12 * Self.hour) == 30)
      let status = try harness.finished("e1")
      #expect(status.state == .done && status.isBalanced && status.recipients == 40)
      #expect(status.accepted == 30 && status.expired == 10 && status.pushes == 40)
    }
  }

  /// What is left is cancelled at once, not wave by wave.
  @Test func theRestIsCancelledAtOnce() throws {
    try WorldHarness.live { harness in
      Self.follow(harness, count: 40, shards: 2)
      var local: Int64 = 0
      _ = try Self.work(harness, from: 0) { local = Self.emit("e1", harness) }
      #expect(try Self.work(harness, from: local - 9 * Self.hour) == 10)
      #expect(try harness.order(.cancelled, "e1"))
      #expect(try Self.work(harness, from: 0) == 10)
      let status = try harness.finished("e1")
      #expect(status.state == .done && status.isBalanced && status.halt == .cancelled)
      #expect(status.accepted == 10 && status.cancelled == 30)
    }
  }
}
