import Keyspace
import Model

/// What `RecordStage.open` found out about an event.
package enum Opening: Sendable, Equatable {
  /// Not seen before.
  case new
  /// Not seen before and done already: nobody follows the streamer.
  case empty([FanOutFigure])
  /// Not seen before, and not to be sent: its stream has ended, or the streamer's followers were
  /// told a short while ago.
  case stopped(String, [FanOutFigure])
  /// Redelivered before it was done. `plan` is the audience it was planned with: go on with that
  /// one, so that its settled marks keep their meaning when the followers were resharded in
  /// between. The first `published` of its segments are in Kafka.
  case resumed(plan: Audience, published: Int)
  /// Another record brought the same id before: drop it.
  case duplicate
  /// Redelivered after it was done or had expired: commit its offset.
  case finished
}

/// What `RecordStage.expire` did with a stale event.
package enum Expiry: Sendable, Equatable {
  case recorded
  case alreadyRecorded
  /// It had been opened before: open it again and go on, so that what is left of it is counted.
  case begun
  /// Another record brought the same id before: drop it.
  case duplicate
}

/// What became of a segment's tally.
package enum Settlement: Sendable, Equatable {
  case recorded(SettledSegment)
  /// Another run has recorded this segment: it is settled all the same.
  case alreadySettled
}

package struct SettledSegment: Sendable, Equatable {
  /// It was the last one: what became of the whole fan-out.
  package let fanOut: [FanOutFigure]?
  /// No segment of it is in the dead letters; `done` instead of `incomplete`.
  package var isComplete = true
  package var fanOutDone: Bool { fanOut != nil && isComplete }
  /// Of the whole segment.
  package let findings: PruneFindings
  /// Counters that Redis did not take (overflow, a key of another type); the rest was recorded.
  package let recordErrors: Int
}

/// One counter of a fan-out's hash.
package struct FanOutFigure: Sendable, Equatable {
  package let name: String
  package let count: Int
}

/// How `plan` stands in the event's hash: `generation:<n>`, `plain:<key>` or `none`.
enum Plan {
  static func text(_ audience: Audience) -> String {
    switch audience {
    case .sharded(_, let generation, _): "generation:\(generation)"
    case .plain(let key): "plain:\(key)"
    case .none: "none"
    }
  }

  /// Nil for what no `text` wrote. The number of followers is not kept: 0.
  static func audience(_ text: String, segments: String) -> Audience? {
    if text == "none" { return segments == "0" ? Audience.none : nil }
    guard let colon = text.firstIndex(of: ":") else { return nil }
    let value = String(text[text.index(after: colon)...])
    switch text[..<colon] {
    case "plain": return value.isEmpty || segments != "1" ? nil : .plain(key: value)
    case "generation":
      guard let generation = Int(value), generation >= 0, let shards = Int(segments),
        Keyspace.isShardCount(shards)
      else { return nil }
      return .sharded(shards: shards, generation: generation, followers: 0)
    default: return nil
    }
  }
}
