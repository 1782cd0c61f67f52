import Keyspace
import Model
import Redis

/// The scripts that note segments that will never be settled, because their records are in the dead
/// letters.
enum DeadLetterScripts {
  static let note = RedisScript(
    RecordScripts.event
      + [
        PackageResources.fan_out_end_lua, PackageResources.clock_lua,
        PackageResources.note_dead_letter_lua,
      ])
  static let count = RedisScript([PackageResources.count_dead_letters_lua])
  static let lose = RedisScript(
    RecordScripts.event + [PackageResources.fan_out_end_lua, PackageResources.note_lost_lua])
  static let published = RedisScript(
    RecordScripts.event + [PackageResources.fan_out_end_lua, PackageResources.published_lua])
}

extension RecordStage {
  /// Workers' clocks may be so many ms behind Redis': an event is expired by theirs, too, then.
  static let clockMargin: Int64 = 10_000

  /// Notes that no try will settle a part of a fan-out, since its record, which came from `source`,
  /// is in the dead letters.
  /// Safe to repeat. Should somebody send the dead letter in again, its settling corrects this.
  ///
  /// After a release of a scheduled event workers look at the event again when its next wave is
  /// due. If there is none and it has not begun, they do so when it has expired, so that it comes
  /// to its end.
  ///
  /// - Parameter released: as for `open`.
  /// - Returns: what became of the fan-out, when nothing more is to come of it.
  package func noteDeadLetter(
    of part: DeadPart, _ event: Event, code: String, source: String, released: String? = nil,
    now: Int64
  ) async throws(RecordError) -> [FanOutFigure]? {
    let clock = released == nil ? 0 : try await time()
    let next = released == nil ? nil : event.nextWave(after: clock)
    let reply = try await run(
      DeadLetterScripts.note, event, now: now,
      arguments: part.arguments + [
        "code": code, "source": released ?? source, "released": released ?? "",
        "follows": next == nil ? "" : "follows",
      ])
    switch reply[0].text {
    case "noted", "nothing": break
    case "awaited":
      let later = next ?? (event.expiresAt > clock ? event.expiresAt + Self.clockMargin : nil)
      let due = Int64(reply[3].text ?? "") ?? 0
      if let later { try await enlist(event.id, again: later, after: due) }
    default: throw .unexpected(reply.kind, from: "the script that notes a dead letter")
    }
    try await handOver(event.id, now: now)
    return reply[1].integer == 1 ? Self.outcomes(reply[2]) : nil
  }
}

/// The part that is lost with a record in the dead letters.
package enum DeadPart: Sendable {
  case segment(Segment)
  /// The segments that the event's own record has not brought to Kafka.
  case event
  /// The same, of the record that was to bring more of them there.
  case plan

  /// Name and number of segments, as the script takes them.
  var arguments: ScriptArguments {
    switch self {
    case .segment(let segment): ["segment": segment.id, "segments": String(segment.planned)]
    case .event: ["segment": "event", "segments": "0"]
    case .plan: ["segment": "plan", "segments": "0"]
    }
  }
}

/// The script that counts what was sent of a segment that does not settle.
enum PartScript {
  static let part = RedisScript(
    RecordScripts.event
      + [
        PackageResources.verdict_counts_lua, PackageResources.notes_lua, PackageResources.part_lua,
      ])
}

extension RecordStage {
  /// Counts what became of the pushes of a segment that cannot be sent to its end: its record goes
  /// to the dead letters. The segment stays open: whoever sends the letter in again sends, and
  /// counts, all of it. Safe to repeat.
  package func countPart(
    of segment: Segment, _ tally: SegmentTally, owner: String, now: Int64
  ) async throws(RecordError) {
    let counters = Self.counters(of: tally)
    let arguments: ScriptArguments = [
      "segment": segment.id, "owner": owner,
      "receipt_seconds": String(Keyspace.receiptLifetimeSeconds),
      "counters": String(counters.count),
    ]
    let notes = notes(of: tally, segment)
    let reply = try await run(
      PartScript.part, segment.event, keys: notes.keys, now: now,
      arguments: arguments + Self.removals(of: tally) + notes.arguments,
      list: counters.flatMap { [$0.0, String($0.1)] } + notes.list)
    guard reply[0].text == "counted" else {
      throw .unexpected(reply.kind, from: "the script that counts a part of a segment")
    }
    try await handOver(segment.event.id, now: now)
  }
}
