import Testing
import Text

@testable import Dashboard

/// How much of the last minute obstacles stood before workers.
@Suite struct ObstacleSharesTests {
  private static let slow: ExactText = "production: slow"

  @Test func aShareIsOfAllWorkersAndOfTheLastMinute() {
    var shares = ObstacleShares()
    for second in Int64(0)...60 {
      shares.add([second <= 30 ? [Self.slow] : [], []], at: second * 1_000)
    }
    #expect(shares.all == [.init(obstacle: "production: slow", percent: 25)])
    #expect(shares.seconds == 60)
    for second in Int64(61)...70 { shares.add([[], []], at: second * 1_000) }
    #expect(shares.all.map(\.percent) == [17])
  }

  /// Nobody knows what was there while nobody looked.
  @Test func aPauseCountsForNothing() {
    var shares = ObstacleShares()
    for second in Int64(0)...10 { shares.add([[Self.slow]], at: second * 1_000) }
    shares.add([[]], at: 30_000)
    #expect(shares.all.map(\.percent) == [100] && shares.seconds == 10)
    shares.add([[]], at: 90_000)
    #expect(shares.all.isEmpty && shares.seconds == 0)
  }

  @Test func obstaclesAreKnownByTheirClass() {
    func classes(_ fields: [String: String]) -> [String] {
      let worker = HealthReader.Worker(id: "w", beatAt: 0, fields: fields)
      return ObstacleShares.classes(of: worker).map(\.text).sorted()
    }
    #expect(classes([:]) == [])
    #expect(
      classes(["waits_for": "to claim a segment: Redis: gone; no Kafka broker"])
        == ["Kafka", "Redis"])
    #expect(classes(["waits_for": "Kafka: no topic of dead letters"]) == ["dead letters"])
    #expect(
      classes(["held_routes": "production (key 1): unreachable (x); fcm every topic: Bad"])
        == ["fcm: credentials", "production: unreachable"])
    #expect(classes(["limits": "event e: 5 a second"]) == ["limits of pushes a second"])
  }
}
