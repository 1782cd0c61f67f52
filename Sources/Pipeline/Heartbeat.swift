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
    for lane in lanes {
      let vitals = await lane.vitals()
      ready += vitals.ready
      inFlight += vitals.inFlight
      connections += vitals.connections
    }
    return [
      ("version", options.version), ("lanes", String(options.lanes)),
      ("partitions", String(await pump.partitions)),
      ("segments_in_flight", String(await pump.inFlight)),
      ("ready", String(ready)), ("streams", String(inFlight)),
      ("connections", String(connections)),
      ("rss_bytes", String(ProcessUsage.own().residentBytes)),
      ("beat_ms", String(options.deliver.wallClock())),
    ]
  }
}

extension Lane {
  /// Beats now and at every interval, until the lane stops. One lane does it for the worker.
  func startHeartbeat(_ heartbeat: Heartbeat) {
    guard !isStopping else { return }
    Task { await beat(heartbeat) }
    loop.schedule(after: options.heartbeatInterval) { [weak self] in
      self?.assumeIsolated { $0.startHeartbeat(heartbeat) }
    }
  }

  private func beat(_ heartbeat: Heartbeat) async {
    let fields = await heartbeat.fields()
    do {
      try await record.heartbeat(worker: options.workerID, fields)
      _ = try await record.appendSeriesPoint(now: options.deliver.wallClock())
    } catch {
      // The next beat comes soon; that Redis is away is said by whoever needs it.
      options.log.debug("no heartbeat", ["error": .text("\(error)")])
    }
  }
}
