import EventLoop
import Kafka
import Record
import Telemetry

/// What a worker tells the dashboards of itself.
struct Heartbeat: Sendable {
  let options: PipelineOptions
  let lanes: [Lane]
  let pump: KafkaPump
  let counters: WorkerCounters

  func figures() async -> WorkerFigures {
    await WorkerFigures.take(options, lanes, pump, counters)
  }

  func fields(_ figures: WorkerFigures) -> [(name: String, value: String)] {
    [
      ("version", figures.version), ("lanes", String(figures.lanes)),
      ("partitions", String(figures.partitions)),
      ("records_in_flight", String(figures.records)),
      ("segments_lingering", String(figures.lingering)), ("records_aside", String(figures.aside)),
      ("lag", String(figures.lag.values.reduce(0, +))),
      ("lag_of_partitions", Self.joined(Self.lags(figures.lag))),
      ("ready", String(figures.ready)), ("streams", String(figures.streams)),
      ("connections", String(figures.connections)),
      ("rss_bytes", String(figures.usage.residentBytes)),
      ("waits_for", Self.joined(figures.waitsFor.map(\.text))),
      ("held_routes", Self.joined(figures.obstacles)),
      ("limits", Self.joined(figures.limits)),
      ("beat_ms", String(options.wallClock())),
    ]
  }

  /// Those that are behind, the furthest first.
  private static func lags(_ lags: [KafkaPartition: Int64]) -> [String] {
    lags.filter { $0.value > 0 }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\($0.key) \($0.value)" }
  }

  /// Empty when there is nothing: a field that were missing would keep its last value.
  private static func joined(_ texts: [String]) -> String {
    texts.prefix(8).map { String($0.prefix(256)) }.joined(separator: "; ")
  }
}
