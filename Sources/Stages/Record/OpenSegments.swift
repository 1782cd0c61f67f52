import Keyspace
import Model
import Redis

/// The segments of a fan-out that nobody has settled, as Redis knows them. Some of these may be
/// worked on: a claim says nothing, since its owner may be dead, and a second record of such a
/// segment waits for its claim. Segments in the dead letters are not among them.
package struct OpenSegments: Sendable, Equatable {
  /// By their numbers, of those that are noted to be in Kafka.
  package let missing: [Int]
  /// By their numbers, of those that are not.
  let unpublished: [Int]
  /// The names of planned segments of stragglers.
  package let stragglers: [String]
  /// The names of all that the event was planned with, in all its waves.
  let planned: [String]
  /// How many of them were brought to Kafka.
  package let published: Int
  /// That the event was planned with.
  package let audience: Audience
  /// The event as it came; nil where Redis does not keep it (`events.trace: none`).
  package let document: [UInt8]?

  package var count: Int { planned.count }

  /// Of all of them, for `noteLost`. Where none was brought to Kafka, the event's own record is to
  /// do that when it is read again.
  package var names: [String] {
    let isUntouched = count > 0 && unpublished.count == count
    return stragglers + (isUntouched ? ["event"] : (missing + unpublished).map { planned[$0] })
  }
}

/// Whether a worker is to plan a fan-out's lost segments again.
package enum RecoveryTurn: Sendable, Equatable {
  case now
  /// Another worker has done it since the records were lost.
  case covered
  case later(Duration)
}

extension RecordStage {
  /// Of a fan-out whose plan is not known there is nothing to say.
  package func openSegments(of fanOut: KnownFanOut) async throws(RecordError) -> OpenSegments? {
    let (id, status) = (fanOut.event, fanOut.status)
    guard let audience = status.audience else { return nil }
    let replies = try await checkedReplies(to: [
      ["SMEMBERS", keyspace.settled(id: id)], ["HGETALL", keyspace.claims(id: id)],
      ["SMEMBERS", keyspace.stragglers(id: id)], ["GET", keyspace.document(event: id)],
      ["SMEMBERS", keyspace.deadLetters(id: id)],
    ])
    var over = Self.texts(replies[0]).union(Self.texts(replies[4]))
    for (segment, claim) in replies[1].dictionary ?? [:] where claim == "dropped" {
      over.insert(segment)
    }
    // The only segment of an event runs where the event is read.
    let published = status.segments > 1 ? min(status[.published], status.segments) : 0
    let planned = audience.segmentIDs(waves: status.waves)
    let open = planned.indices.filter { !over.contains(planned[$0]) }
    // Those of a plan, or an event, that is in the dead letters are known to be missing.
    let hasPlanner = !over.contains("plan") && !over.contains("event")
    return OpenSegments(
      missing: open.filter { $0 < published },
      unpublished: hasPlanner ? open.filter { $0 >= published } : [],
      stragglers: Self.texts(replies[2]).subtracting(over).sorted(), planned: planned,
      published: published, audience: audience, document: replies[3].bytes.map(Array.init))
  }

  private static func texts(_ reply: RedisReply) -> Set<String> {
    Set((0..<reply.count).compactMap { reply[$0].text })
  }

  /// A fan-out is recovered at most so often: each recovery writes all its open segments, which may
  /// push other records out of Kafka.
  package static let recoveryInterval: Duration = .seconds(60)

  /// Asks for the right to plan the fan-out's lost segments again. Safe to repeat.
  /// - Parameters:
  ///   - owner: names this recovery.
  ///   - age: how long ago the last of the records was found to be lost.
  package func beginRecovery(
    of event: String, owner: String, age: Duration
  ) async throws(RecordError) -> RecoveryTurn {
    let reply = try await evaluate(
      ClaimScripts.beginRecovery, keys: [keyspace.recovery(id: event)],
      arguments: [
        "owner": owner, "age_ms": Self.milliseconds(age),
        "interval_ms": Self.milliseconds(Self.recoveryInterval),
        "lifetime_seconds": String(Keyspace.receiptLifetimeSeconds),
      ])
    guard let answer = reply.integer else {
      throw .unexpected(reply.kind, from: "the script that begins a recovery")
    }
    return switch answer {
    case 0: .now
    case ..<0: .covered
    default: .later(.milliseconds(answer))
    }
  }

  /// Notes that segments will never be settled, since their records are lost. Safe to repeat, and
  /// corrected by the settling of one that was there all the same.
  ///
  /// - Parameter names: of segments, or `event` for all of them.
  /// - Returns: what became of the fan-out when nothing more is to come of it.
  package func noteLost(
    _ names: [String], of fanOut: KnownFanOut, now: Int64
  ) async throws(RecordError) -> [FanOutFigure]? {
    let reply = try await run(
      DeadLetterScripts.lose, id: fanOut.event, streamer: fanOut.status.streamer,
      template: fanOut.status.template, now: now,
      arguments: ["segments": String(fanOut.status.segments)], list: names)
    guard ["noted", "nothing"].contains(reply[0].text) else {
      throw .unexpected(reply.kind, from: "the script that notes lost segments")
    }
    try await handOver(fanOut.event, now: now)
    return reply[1].integer == 1 ? Self.outcomes(reply[2]) : nil
  }
}
