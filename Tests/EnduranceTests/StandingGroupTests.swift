import ServerProcesses
import Settings
import TestBed
import Testing
import Text

/// How long a group stands, with the times that workers have by default, when one of them is killed
/// and started again, as a container is, and when Kafka was away.
@Suite(
  .serialized, .enabled(if: RealKafka.home != nil, "FANFARE_KAFKA_HOME names no Apache Kafka"))
struct StandingGroupTests {
  private static let workers = ["w1", "w2", "w3"]
  private static let longest = 12_000
  private static let settings = [
    "kafka.session_timeout=\(DurationText.text(Settings.defaults.kafka.sessionTimeout))",
    "kafka.heartbeat_interval=\(DurationText.text(Settings.defaults.kafka.heartbeatInterval))",
  ]

  @Test func othersGoOnSoonWhenOneIsKilledAndStartedAgain() async throws {
    let set = try await Self.make(try RealKafka())
    let killed = ContinuousClock.now
    _ = try await set.fleet.kill("w2", [])
    let first = try await Self.emit(set, "killed", from: killed, count: 12)
    try await set.fleet.begin("w2", settings: Self.settings)
    let second = try await Self.emit(set, "started", from: .now, count: 48)
    try await Self.expectNoLongWait(first + second, "a worker was killed, and came back", set)
  }

  @Test func othersGoOnSoonWhenOneIsKilled() async throws {
    let set = try await Self.make(try RealKafka())
    let killed = ContinuousClock.now
    _ = try await set.fleet.kill("w2", [])
    let events = try await Self.emit(set, "killed", from: killed, count: 60)
    try await Self.expectNoLongWait(events, "a worker was killed", set)
  }

  @Test func allGoOnSoonWhenKafkaWasAwayForLongerThanASession() async throws {
    let kafka = try RealKafka(isOwn: true)
    let set = try await Self.make(kafka)
    try kafka.kill()
    let session = Settings.defaults.kafka.sessionTimeout
    try await set.wait(until: .now + session * 2)
    try kafka.start()
    let events = try await Self.emit(set, "back", from: .now, count: 60)
    try await Self.expectNoLongWait(events, "Kafka was away", set)
  }

  /// Three workers, and a streamer with one follower for each partition that there may be.
  private static func make(_ kafka: RealKafka) async throws -> EnduranceBed {
    let bed = try await WorkerBed(kafka: kafka, partitions: 12)
    for number in 0..<streamers {
      try await bed.follow("s\(number)", tokens: [paddedHex(number + 1)])
    }
    let set = EnduranceBed(bed: bed, fleet: Fleet(bed, settings: settings))
    try await set.fleet.start(workers)
    return set
  }

  /// An event, and when it was sent, in ms since 1970.
  private struct Sent {
    let event: String
    let time: Int
  }

  private static let streamers = 48
  private static let pace: Duration = .milliseconds(250)

  /// Four events a second, of streamers by turns.
  private static func emit(
    _ set: EnduranceBed, _ name: String, from began: ContinuousClock.Instant, count: Int
  ) async throws -> [Sent] {
    var events: [Sent] = []
    for number in 0..<count {
      let event = "\(name)-\(number)"
      let time = try await set.bed.emit(event, streamer: "s\(number % streamers)")
      events.append(Sent(event: event, time: Int(time)))
      try await set.wait(until: began + pace * (number + 1))
    }
    return events
  }

  /// By the clock of the events and the workers, which is this machine's.
  private static func expectNoLongWait(
    _ events: [Sent], _ what: String, _ set: EnduranceBed
  ) async throws {
    var longest = 0
    for sent in events {
      let status = try await set.bed.finished(sent.event)
      #expect(status.accepted == 1)
      longest = max(longest, status.firstPushAt - sent.time)
    }
    EnduranceBed.report("\(what): no event waited for more than \(longest) ms")
    #expect(longest <= Self.longest)
  }
}
