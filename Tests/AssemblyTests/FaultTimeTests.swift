import Kafka
import Pipeline
import Record
import Settings
import Testing
import Text

/// How soon faults show with the settings' defaults, as a sum: `FaultTests.OperatorDrillTests`
/// makes the faults.
@Suite struct FaultTimeTests {
  private static let limit: Duration = .seconds(10)
  /// The dashboard reads Redis once a second.
  private static let refresh: Duration = .seconds(1)
  private static let heartbeat = Settings.defaults.worker.heartbeatInterval

  @Test func aDeadWorkerShowsInTime() {
    let interval = String(Self.heartbeat.wholeMilliseconds)
    let silence = WorkerBeat.longestSilence(["beat_interval_ms": interval])
    #expect(.milliseconds(silence) >= Self.heartbeat * 3, "one beat may be late")
    #expect(.milliseconds(silence) + Self.refresh * 2 <= Self.limit)
  }

  /// Kafka's client reports an outage at its next statistics, and the heartbeat carries it.
  @Test func aKafkaThatIsAwayShowsInTime() {
    let reported = KafkaOptions(bootstrapServers: "a:1").reachabilityInterval
    #expect(reported + Self.heartbeat + Self.refresh * 2 <= Self.limit)
  }

  /// Kafka is asked as often as the heartbeat is written, which carries what it said before.
  @Test func aLagShowsInTime() {
    #expect(Self.heartbeat * 2 + Self.refresh * 2 <= Self.limit)
  }

  /// A worker finds it, and its heartbeat carries it to a dashboard that has no templates.
  @Test func aBrokenTemplateShowsInTime() {
    let found = Settings.defaults.templates.reloadInterval + TemplateChange.settlingTime
    #expect(found + Self.heartbeat + Self.refresh * 2 <= Self.limit)
  }
}
