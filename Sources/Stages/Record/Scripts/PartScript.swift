import Keyspace
import Model
import Redis

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
