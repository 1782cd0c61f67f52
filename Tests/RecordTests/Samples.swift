import Keyspace
import Model
import Redis

@testable import Record

let keyspace = Keyspace()
let noon: Int64 = 1_795_262_400_000  // 2026-11-21T12:00:00Z

func event(_ id: String) -> Event {
  Event(
    id: id, app: "com.example.live", streamer: "s1", stream: "b1", template: "go-live",
    occurredAt: noon, expiresAt: noon + 900_000, fields: [:], document: [])
}

func segments(_ id: String, _ count: Int) -> [Segment] {
  Audience.sharded(shards: count, generation: 1, followers: 0).segments(of: event(id))
}

func sharded(_ shards: Int, generation: Int = 1) -> Audience {
  .sharded(shards: shards, generation: generation, followers: 0)
}

/// A tally of so many accepted pushes and one rejected per verdict.
func tally(accepted: Int, _ verdicts: [TokenVerdict] = []) -> SegmentTally {
  let tally = SegmentTally()
  tally.recipients = accepted
  tally.pushes = accepted + verdicts.count
  tally.count(.accepted, times: accepted)
  for verdict in verdicts {
    switch verdict.finding {
    case .gone: tally.count(.rejected(.unregistered))
    case .unusable(let reason): tally.count(.rejected(reason))
    }
  }
  for verdict in verdicts { tally.add(verdict) }
  tally.firstPushAt = noon + 10
  tally.lastPushAt = noon + 20
  return tally
}

func member(_ token: String) -> String { "apns:production:com.example.live:\(token)" }

func gone(_ user: String, _ token: String, since: Int64) -> TokenVerdict {
  TokenVerdict(
    user: user, member: member(token), finding: .gone(since: since, reason: .unregistered))
}

func unusable(_ user: String, _ token: String) -> TokenVerdict {
  TokenVerdict(user: user, member: member(token), finding: .unusable(.badDeviceToken))
}

/// However many devices are gone, they are removed.
func withoutLimit(verdictsAtOnce: Int = 256) -> RecordOptions {
  var options = RecordOptions(verdictsAtOnce: verdictsAtOnce)
  options.removalShare = 100
  return options
}

extension RedisClient {
  func hasSettled(_ segment: Segment) async throws -> Bool {
    try await ask("SISMEMBER", keyspace.settled(id: segment.event.id), segment.id) == "1"
  }

  /// What a registration writes.
  func bind(_ user: String, _ token: String, at: Int64? = nil) async throws {
    _ = try await ask("SADD", keyspace.bindings(user: user), member(token))
    if let at { _ = try await ask("HSET", keyspace.bound(user: user), member(token), String(at)) }
    _ = try await ask("SET", keyspace.tokenOwner(token: token), user)
  }
}

/// Reasons of Apple's, which this room knows by name alone.
extension RejectionReason {
  static let unregistered = RejectionReason(named: "Unregistered", of: .apns)
  static let expiredToken = RejectionReason(named: "ExpiredToken", of: .apns)
  static let badDeviceToken = RejectionReason(named: "BadDeviceToken", of: .apns)
  static let badTopic = RejectionReason(named: "BadTopic", of: .apns)
  static let payloadTooLarge = RejectionReason(named: "PayloadTooLarge", of: .apns)
}

extension SettledSegment {
  /// Its fan-out is done, and not only over.
  var fanOutDone: Bool { fanOut != nil && isComplete }
}
