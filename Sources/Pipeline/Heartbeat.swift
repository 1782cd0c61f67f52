import EventLoop
import Record
import Telemetry

/// What a worker tells the dashboards of itself.
struct Heartbeat: Sendable {
  let options: PipelineOptions
  let lanes: [Lane]
  let pump: KafkaPump
  let counters: WorkerCounters

  func fields() async -> [(name: String, value: String)] {
    var ready = 0
    var inFlight = 0
    var connections = 0
    var lingering = 0
    var waitsFor = await pump.waitsFor
    var obstacles: [String] = []
    for lane in lanes {
      let vitals = await lane.vitals()
      lingering += vitals.lingering
      for text in vitals.waitsFor where !waitsFor.contains(text) { waitsFor.append(text) }
      for text in vitals.obstacles where !obstacles.contains(text) { obstacles.append(text) }
      ready += vitals.ready
      inFlight += vitals.inFlight
      connections += vitals.connections
    }
    return [
      ("version", options.version), ("lanes", String(options.lanes)),
      ("partitions", String(await pump.partitions)),
      ("segments_in_flight", String(await pump.inFlight)),
      ("segments_lingering", String(lingering)), ("records_aside", String(await pump.aside)),
      ("ready", String(ready)), ("streams", String(inFlight)),
      ("connections", String(connections)),
      ("rss_bytes", String(ProcessUsage.own().residentBytes)),
      ("waits_for", Self.joined(waitsFor)), ("held_routes", Self.joined(obstacles)),
      ("beat_ms", String(options.deliver.wallClock())),
    ]
  }

  /// Empty when there is nothing: a field that were missing would keep its last value.
  private static func joined(_ texts: [String]) -> String {
    texts.prefix(8).map { String($0.prefix(256)) }.joined(separator: "; ")
  }
}
