import Keyspace
import Model

/// The note of a push, or of a user to whom nothing was sent.
package struct TracedPush: Sendable, Equatable {
  /// 0: it is about all of the user's devices. See `DeviceMark`.
  package let device: UInt32
  /// `accepted`, `expired`, `cancelled`, `waiting`, `skipped`, the name of a rule, or a reason as
  /// `rejected:<Reason>` counts it, which begins with a capital.
  package let word: String
  /// Ms since 1970.
  package let at: Int64
  /// How often it was sent.
  package let sends: Int

  package init(device: UInt32, word: String, at: Int64, sends: Int) {
    self.device = device
    self.word = word
    self.at = at
    self.sends = sends
  }

  /// Nil for what no `notes.lua` wrote.
  init?(_ text: Substring) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 4, let device = UInt32(parts[0], radix: 36), !parts[1].isEmpty,
      let at = Int64(parts[2], radix: 36), let sends = Int(parts[3], radix: 36)
    else { return nil }
    self.init(device: device, word: String(parts[1]), at: at, sends: sends)
  }

  package static func all(_ text: String) -> [TracedPush] {
    text.split(separator: " ").compactMap { TracedPush($0) }
  }
}

extension RecordStage {
  /// The notes of a user's pushes.
  /// - Parameters:
  ///   - status: of the event, read before.
  ///   - segment: in which the user's pushes are, stragglers apart.
  package func outcomes(
    of user: String, event: String, _ status: FanOutStatus, segment: String
  ) async throws(RecordError) -> UserOutcomes {
    let part = Keyspace.tracePart(of: user, segments: status.segments / status.waves)
    let (settled, dead) = (keyspace.settled(id: event), keyspace.deadLetters(id: event))
    let parts = [segment, "event", "plan"]
    let replies = try await checkedReplies(
      to: [
        ["HGET", keyspace.trace(event: event, part: part), user],
        ["GET", keyspace.document(event: event)], ["SISMEMBER", settled, segment],
      ] + parts.map { ["SISMEMBER", dead, $0] })
    var outcomes = UserOutcomes()
    outcomes.pushes = TracedPush.all(replies[0].text ?? "")
    outcomes.document = replies[1].bytes.map { Array($0) }
    outcomes.isSettled = replies[2].integer == 1
    for (index, part) in parts.enumerated() where replies[3 + index].integer == 1 {
      outcomes.deadLetters.insert(part)
    }
    return outcomes
  }

  /// In which segment of an event a user's pushes were planned; nil where it had none.
  /// Of an event for a local hour the one in the last wave: then all waves are over.
  package func segment(of user: String, _ status: FanOutStatus) -> String? {
    name(of: user, status).map { name in
      status.waves > 1 ? Segment.id(name, wave: status.waves - 1) : name
    }
  }

  private func name(of user: String, _ status: FanOutStatus) -> String? {
    switch status.audience {
    case .sharded(let shards, let generation, _):
      "\(generation).\(Keyspace.shard(of: user, shards: shards))"
    case .plain: "plain"
    case .selected(let parts)?: "part.\(Keyspace.shard(of: user, shards: parts))"
    case .named?: "named"
    case .some(.none), nil: nil
    }
  }
}

/// Redis' data about one user and one event.
package struct UserOutcomes: Sendable, Equatable {
  package var pushes: [TracedPush] = []
  /// Whether the user's segment is.
  package var isSettled = false
  /// Which of its record, the event's (`event`) and that of more segments (`plan`) are in the dead
  /// letters.
  package var deadLetters: Set<String> = []
  /// The event as it came; nil where it is not kept.
  package var document: [UInt8]?

  package init() {}
}
