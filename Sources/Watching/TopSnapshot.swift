import Terminal
import Text

/// The content of a live view, as it was read at one moment.
package struct TopSnapshot: Sendable, Equatable {
  /// When it was read, in ms since 1970.
  package var asOf: Int64
  /// In their order.
  package var fanOuts: [FanOutRow]
  package var workers: [WorkerRow]
  /// Workers that are not among `workers`.
  package var workersLeftOut = 0
  package var obstacles: [ObstacleRow]
  /// Fan-outs that are looked at: so many that began last.
  package var window: Int

  package var lag: Int { workers.reduce(0) { $0 &+ $1.lag } }
  package var rate: Double { fanOuts.reduce(0) { $0 + ($1.rate ?? 0) } }
}

extension TopSnapshot {
  /// One line for programs. Numbers that are not known are null.
  package func json(now: Int64) -> JSONOutput {
    [
      "now_ms": .integer(Int(now)), "as_of_ms": .integer(Int(asOf)),
      "window": "the newest \(window) fan-outs of 7 days",
      "fanouts": .array(fanOuts.map(\.json)), "workers": .array(workers.map(\.json)),
      "workers_left_out": .integer(workersLeftOut), "lag": .integer(lag),
      "obstacles": .array(
        obstacles.map {
          [
            "text": .text($0.text), "workers": .integer($0.workers),
            "seen_since_ms": .integer(Int($0.seenSince)),
          ]
        }),
    ]
  }
}

extension FanOutRow {
  fileprivate var json: JSONOutput {
    func time(_ milliseconds: Int64) -> JSONOutput {
      milliseconds > 0 ? .integer(Int(milliseconds)) : .null
    }
    return [
      "event": .text(event), "streamer": .text(streamer), "state": .text(state.rawValue),
      "state_why": .text(why), "pushes": .integer(done),
      "expected_pushes": total.map { .integer($0) } ?? .null,
      "rate": rate.map { .number($0, digits: 1) } ?? .null,
      "seconds_left": secondsLeft.map { .integer($0) } ?? .null,
      "accepted": .integer(accepted), "rejected": .integer(rejected),
      "started_ms": time(startedAt), "ended_ms": time(endedAt), "expires_ms": time(expiresAt),
    ]
  }
}

extension WorkerRow {
  fileprivate var json: JSONOutput {
    func list(_ texts: [String]) -> JSONOutput { .array(texts.map { .text($0) }) }
    return [
      "id": .text(id), "version": .text(version), "ready": .integer(ready), "lag": .integer(lag),
      "streams": .integer(streams), "connections": .integer(connections),
      "rss_bytes": .integer(residentBytes), "beat_ms": .integer(Int(beatAt)),
      "clock_ahead_ms": .integer(Int(clockAhead)), "waits_for": list(waitsFor),
      "held_routes": list(heldRoutes), "limits": list(limits),
    ]
  }
}
