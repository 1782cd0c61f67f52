import Keyspace
import Model
import Redis

/// The Lua that counts what was sent of a segment that does not settle.
enum PartScript {
  static let part = RedisScript(
    RecordScripts.permissions + RecordScripts.prelude + PruneScript.counting
      + TraceScript.functions + body)

  /// ARGV 6…: segment, owner of its claim, seconds that a receipt lives, tokens taken out and set
  /// aside, number of counters, then name and amount of each, then what `keep_notes` takes. Counts
  /// once for each owner.
  private static let body = """
    local field = ARGV[6] .. ' part'
    if redis.call('HGET', receipts, field) == ARGV[7] then return {'counted'} end
    redis.call('HSET', receipts, field, ARGV[7])
    redis.call('EXPIRE', receipts, ARGV[8])
    if redis.call('EXISTS', event) == 0 then create('running') end
    count_verdicts(ARGV[6], ARGV[7], ARGV[9], ARGV[10], true)
    local notes = 12 + 2 * tonumber(ARGV[11])
    for i = 12, notes - 1, 2 do
      try('HINCRBY', event, ARGV[i], ARGV[i + 1])
      count(ARGV[i], ARGV[i + 1])
    end
    keep_notes(notes)
    keep()
    return {'counted'}
    """
}

extension RecordStage {
  /// Counts what became of the pushes of a segment that cannot be sent to its end: its record goes
  /// to the dead letters. The segment stays open: whoever sends the letter in again sends, and
  /// counts, all of it. Safe to repeat.
  package func countPart(
    of segment: Segment, _ tally: SegmentTally, owner: String, now: Int64
  ) async throws(RecordError) {
    var arguments = [segment.id, owner, String(Keyspace.receiptLifetimeSeconds)]
    let counters = Self.counters(of: tally)
    arguments += Self.removals(of: tally) + [String(counters.count)]
    for (name, count) in counters { arguments += [name, String(count)] }
    let notes = notes(of: tally, segment)
    let reply = try await run(
      PartScript.part, segment.event, keys: notes.keys, now: now,
      arguments: arguments + notes.arguments)
    guard reply[0].text == "counted" else {
      throw .unexpected(reply.kind, from: "the script that counts a part of a segment")
    }
    try await handOver(segment.event.id, now: now)
  }
}
