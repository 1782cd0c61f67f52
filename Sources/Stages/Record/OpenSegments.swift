import Keyspace
import Model
import Redis

/// What Redis says of a fan-out that is not over: which of its segments nobody has settled. Some of
/// these may be worked on: a claim says nothing, since its owner may be dead, and a second record
/// of such a segment waits for its claim.
package struct OpenSegments: Sendable, Equatable {
  /// By their numbers, of those that are noted to be in Kafka.
  package let missing: [Int]
  /// The names of the same.
  package let names: [String]
  /// The names of planned segments of stragglers.
  package let stragglers: [String]
  /// Segments that the event was planned with, and how many of them were brought to Kafka.
  package let count: Int
  package let published: Int
  /// Of the streamer's followers; nil for the parts of what an expression selects.
  package let generation: Int?
  /// The event as it came; nil where Redis does not keep it (`events.trace: none`).
  package let document: [UInt8]?
}

extension RecordStage {
  /// Of a fan-out whose plan is not known there is nothing to say.
  package func openSegments(of fanOut: KnownFanOut) async throws(RecordError) -> OpenSegments? {
    let (id, status) = (fanOut.event, fanOut.status)
    guard let audience = Plan.audience(status.plan, segments: String(status.segments)) else {
      return nil
    }
    let replies = try await checkedReplies(to: [
      ["SMEMBERS", keyspace.settled(id: id)], ["HGETALL", keyspace.claims(id: id)],
      ["SMEMBERS", keyspace.stragglers(id: id)], ["GET", keyspace.document(event: id)],
    ])
    var over = Self.texts(replies[0])
    for (segment, claim) in replies[1].dictionary ?? [:] where claim == "dropped" {
      over.insert(segment)
    }
    var generation: Int?
    if case .sharded(_, let known, _) = audience { generation = known }
    // The only segment of an event runs where the event is read.
    let published = status.segments > 1 ? min(status[.published], status.segments) : 0
    func name(_ index: Int) -> String {
      generation.map { "\($0).\(index)" } ?? "part.\(index)"
    }
    let missing = (0..<published).filter { !over.contains(name($0)) }
    return OpenSegments(
      missing: missing, names: missing.map(name),
      stragglers: Self.texts(replies[2]).subtracting(over).sorted(),
      count: status.segments, published: published, generation: generation,
      document: replies[3].bytes.map(Array.init))
  }

  private static func texts(_ reply: RedisReply) -> Set<String> {
    Set((0..<reply.count).compactMap { reply[$0].text })
  }

  /// Notes that segments will never be settled, since Kafka no longer has their records. Safe to
  /// repeat, and corrected by the settling of one that was there all the same.
  ///
  /// - Parameter names: of segments, and `plan` where the record is lost that was to bring more of
  ///   them to Kafka.
  /// - Returns: what became of the fan-out, when nothing more is to come of it.
  package func noteLost(
    _ names: [String], of fanOut: KnownFanOut, now: Int64
  ) async throws(RecordError) -> [FanOutFigure]? {
    let reply = try await run(
      DeadLetterScripts.lose, id: fanOut.event, streamer: fanOut.status.streamer,
      template: fanOut.status.template, now: now,
      arguments: [String(fanOut.status.segments)] + names)
    guard ["noted", "nothing"].contains(reply[0].text) else {
      throw .unexpected(reply.kind, from: "the script that notes lost segments")
    }
    try await handOver(fanOut.event, now: now)
    return reply[1].integer == 1 ? Self.outcomes(reply[2]) : nil
  }
}
