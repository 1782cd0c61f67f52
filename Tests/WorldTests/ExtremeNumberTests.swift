import Kafka
import Model
import Pipeline
import Record
import Telemetry
import Testing
import World

/// Numbers at the ends of their range, from whoever writes to the topics: they cost nobody a thing.
@Suite struct ExtremeNumberTests {
  private static let extremes = [
    "-9223372036854775808", "9223372036854775807", "-1", "18446744073709551616",
  ]
  private static let times = ["fanfare-not-before", "fanfare-written", "fanfare-expires"]

  private static func record(_ id: String, occurredAt: String, user: Int) -> [UInt8] {
    let member = "apns:production:\(WorldHarness.app):\(paddedHex(user + 1))"
    return Array(
      """
      {"event":{"id":"\(id)","app":"\(WorldHarness.app)","streamer":{"id":"s1","name":"Aiko"},\
      "stream":{"id":"b1","title":"T"},"template":"go-live","occurred_at":"\(occurredAt)",\
      "expires_in":900},"id":"1.0~01","parent":"1.0","stragglers":\
      [["s1-u\(user)","\(member)",9223372036854775807,0,0,false]],"segments":1}
      """.utf8)
  }

  @Test func aStragglersHeadersStopNoWorker() throws {
    try WorldHarness.live(partitions: 1) { harness in
      harness.follow("s1", tokens: (1...2).map(paddedHex))
      let worker = try harness.startWorker {
        $0.straggleDelay = .milliseconds(500)
        $0.claimLifetime = .seconds(1)
      }
      try harness.ready()
      let now = WallClock.rfc3339(harness.now)
      for extreme in Self.extremes {
        for header in Self.times {
          // Nobody has planned this list: it is deferred, and its age is asked for.
          harness.append(
            Self.record("unplanned", occurredAt: now, user: 1), key: "u",
            headers: [KafkaHeader(header, extreme)], topic: "notify-followers.stragglers")
        }
      }
      harness.redis("SADD", "ff:{e:good}:stragglers", "1.0~01")
      harness.append(
        Self.record("good", occurredAt: now, user: 0), key: "g",
        headers: Self.times.map { KafkaHeader($0, "-9223372036854775808") },
        topic: "notify-followers.stragglers")
      _ = try harness.until("the good list is sent") {
        harness.status("good").map { $0.accepted == 1 ? true : nil } ?? nil
      }
      #expect(harness.stop(worker))
    }
  }

  /// The longest times that an event can have, in a record that only workers write.
  @Test func timesAtTheEndOfTheCalendarStopNoWorker() throws {
    try WorldHarness.live(partitions: 1) { harness in
      harness.follow("s1", tokens: (1...2).map(paddedHex))
      let worker = try harness.startWorker()
      try harness.ready()
      for (id, time, user) in [
        ("late", "9999-12-31T23:59:59Z", 0), ("early", "1970-01-01T00:00:00Z", 1),
      ] {
        harness.redis("SADD", "ff:{e:\(id)}:stragglers", "1.0~01")
        harness.append(
          Self.record(id, occurredAt: time, user: user), key: "u",
          topic: "notify-followers.stragglers")
      }
      // APNs takes no expiration that far off.
      _ = try harness.until("the late one has an outcome") {
        harness.status("late").map {
          $0.rejected == ["BadExpirationDate": 1] && $0.pushes == 1 ? true : nil
        } ?? nil
      }
      _ = try harness.until("the early one has expired") {
        harness.status("early").map { $0.expired == 1 ? true : nil } ?? nil
      }
      #expect(harness.stop(worker))
    }
  }
}
