import Devices
import Keyspace
import TestBed

/// Those who get one event, by the segment that reaches them. Each of their devices is in no other
/// crowd, so that the simulator's ledger, which knows devices only, says what became of the event.
struct Crowd: Sendable {
  let event: String
  let streamer: String
  let followers: Int
  /// Devices whose owners muted the streamer: no push goes to them.
  let muted: Int
  /// The tokens of all others, shard by shard.
  let tokens: [[String]]

  var pushes: Int { tokens.reduce(0) { $0 + $1.count } }

  /// Of a segment by its name in Redis, `<generation>.<shard>` and for stragglers more behind it.
  func tokens(of segment: String) -> [String] {
    let shard = segment.split(separator: ".").last?.prefix { $0.isNumber }
    return shard.flatMap { Int($0) }.map { tokens[$0] } ?? []
  }

  /// Writes a streamer with made-up followers to Redis.
  static func large(_ event: String, followers: Int, in bed: WorkerBed) async throws -> Crowd {
    let audience = SyntheticAudience(followers: followers, seed: 31, topic: WorkerBed.app)
    try await bed.seed(audience, streamer: event)
    var tokens = Array(
      repeating: [String](), count: Keyspace.recommendedShards(followers: followers))
    for index in 0..<followers {
      let shard = Keyspace.shard(of: audience.user(index), shards: tokens.count)
      tokens[shard] += audience.addressedTokens(index)
    }
    return Crowd(
      event: event, streamer: event, followers: followers, muted: audience.totals().mutedDevices,
      tokens: tokens)
  }

  /// - Parameter number: another one for each.
  static func small(_ number: Int, in bed: WorkerBed) async throws -> Crowd {
    let followers = 50
    let tokens = (0..<followers).map { paddedHex((number + 1) << 16 | $0) }
    let event = "small-\(number)"
    try await bed.follow(event, tokens: tokens)
    return Crowd(
      event: event, streamer: event, followers: followers, muted: 0, tokens: [tokens])
  }
}
