import Record
import Text

/// A worker as a live view shows it: what its last heartbeat said.
package struct WorkerRow: Sendable, Equatable {
  package let id: String
  package let version: String
  /// Pushes that wait for a stream.
  package let ready: Int
  package let lag: Int
  package let streams: Int
  package let connections: Int
  package let residentBytes: Int
  /// Ms since 1970, by its own clock.
  package let beatAt: Int64
  /// How far its clock is ahead of Redis', in ms.
  package let clockAhead: Int64
  package let waitsFor: [String]
  package let heldRoutes: [String]
  package let limits: [String]
  /// Without a beat for longer, in ms, it counts as dead.
  package let longestSilence: Int64

  package init(_ beat: WorkerBeat) {
    func number(_ name: String) -> Int {
      Int(beat.fields[name].flatMap { StoredNumber.read($0) } ?? 0)
    }
    func texts(_ name: String) -> [String] {
      (beat.fields[name] ?? "").split(separator: "; ").map(String.init)
    }
    id = beat.id
    version = beat.fields["version"] ?? ""
    ready = number("ready")
    lag = number("lag")
    streams = number("streams")
    connections = number("connections")
    residentBytes = number("rss_bytes")
    beatAt = Int64(number("beat_ms"))
    clockAhead = Int64(number("clock_ahead_ms"))
    waitsFor = texts("waits_for")
    heldRoutes = texts("held_routes")
    limits = texts("limits")
    longestSilence = WorkerBeat.longestSilence(beat.fields)
  }

  /// - Parameter now: ms since 1970.
  package func age(at now: Int64) -> Int64 { max(0, now - beatAt) }

  package func isStale(at now: Int64) -> Bool { age(at: now) > longestSilence }
}

/// An obstacle that holds up pushes, as workers say it.
package struct ObstacleRow: Sendable, Equatable {
  package let text: String
  /// So many workers say so.
  package let workers: Int
  /// Since this view has seen it, in ms since 1970; it may be there for longer.
  package let seenSince: Int64
}
