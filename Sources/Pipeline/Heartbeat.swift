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

extension Lane {
  private static let namesakeLineInterval: Duration = .seconds(60)

  /// Beats now and at every interval, until the lane stops. One lane does it for the worker.
  func startHeartbeat(_ heartbeat: Heartbeat) {
    guard !isStopping else { return }
    Task { await beat(heartbeat) }
    loop.schedule(after: options.heartbeatInterval) { [weak self] in
      self?.assumeIsolated { $0.startHeartbeat(heartbeat) }
    }
  }

  /// After a restart the last beat was an earlier instance's, once. Later it is ours, unless
  /// another one lives.
  private func sayWhoElseBeats(_ last: String?) {
    defer { hasBeaten = true }
    guard hasBeaten, let last, last != options.instance, loop.now >= nextNamesakeLine else {
      return
    }
    nextNamesakeLine = loop.now &+ Self.namesakeLineInterval.nanoseconds
    options.log.warning(
      "another worker has the same id and overwrites this one's heartbeat: give each its own "
        + "worker.id",
      ["worker": .text(options.workerID), "instance": .text(last)])
  }

  private func beat(_ heartbeat: Heartbeat) async {
    for lane in heartbeat.lanes { await lane.countDeadLetters() }
    do {
      let clock = String(try await compareClock())
      let fields = await heartbeat.fields() + [("clock_ahead_ms", clock)]
      let last = try await record.heartbeat(
        worker: options.workerID, instance: options.instance, fields)
      sayWhoElseBeats(last)
      _ = try await record.appendSeriesPoint(now: options.deliver.wallClock())
    } catch {
      // The next beat comes soon; that Redis is away is said by whoever needs it.
      options.log.debug("no heartbeat", ["error": .text("\(error)")])
    }
  }
}
