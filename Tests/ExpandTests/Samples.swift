import Keyspace
import Model
import Redis
import Testing

@testable import Expand

let keyspace = Keyspace()
let app = "com.example.live"

func event(_ streamer: String = "s1") -> Event {
  Event(
    id: "e1", app: app, streamer: streamer, stream: "b1", template: "go-live",
    occurredAt: 0, expiresAt: 1, fields: [:], document: [])
}

func shard(_ index: Int, of count: Int, generation: Int = 1) -> Segment {
  Segment(event: event(), slice: .shard(index: index, generation: generation), count: count)
}

func plain(_ key: String) -> Segment { Segment(event: event(), slice: .plain(key: key), count: 1) }

func member(_ token: String, topic: String = app, environment: String = "production") -> String {
  "apns:\(environment):\(topic):\(token)"
}

/// A token of the user's own.
func token(_ user: String) -> String {
  user.utf8.map { "\($0 < 16 ? "0" : "")\(String($0, radix: 16))" }.joined()
}

/// What a page says of its recipients, as text.
struct Reading: Equatable, Sendable {
  var users: [String] = []
  var tokens: [String: [String]] = [:]
  var fields: [String: [String?]] = [:]
  var followers = 0
  var suppressed = SuppressionCounts()
  var skipped = 0
  var pageSizes: [Int] = []
  /// Users that the reader named.
  var passedOver: [String] = []
  /// What it said of each of them.
  var reasons: [String: String] = [:]

  mutating func add(_ page: RecipientPage) {
    followers += page.followers
    for (rule, count) in page.suppressed.byRule { suppressed[rule] += count }
    skipped += page.skipped
    pageSizes.append(page.followers)
    for (index, recipient) in page.recipients.enumerated() {
      let user = page.bytes.string(recipient.user)
      users.append(user)
      let first = Int(recipient.firstBinding)
      for binding in page.bindings[first..<first + Int(recipient.bindingCount)] {
        tokens[user, default: []].append(page.bytes.string(binding.token))
      }
      fields[user] = page.fieldNames.indices.map {
        let value = page.field($0, of: index)
        return value.isMissing ? nil : page.bytes.string(value)
      }
    }
  }
}

extension RedisClient {
  /// One pipeline; the first refusal is thrown.
  func commands(_ commands: [[String]]) async throws {
    let pipeline = RedisPipeline()
    for command in commands { pipeline.append(command) }
    if let error = try await execute(pipeline).firstError { throw error }
  }

  func heading(_ shards: Int, generation: Int, followers: Int = 0) async throws {
    try await commands([
      [
        "HSET", keyspace.followers(of: "s1"), "shards", "\(shards)", "generation",
        "\(generation)", "followers", "\(followers)",
      ]
    ])
  }

  /// Divides users into the shards of a generation.
  func place(_ users: [String], shards: Int, generation: Int = 1) async throws {
    var commands: [[String]] = []
    for user in users {
      let shard = Keyspace.shard(of: user, shards: shards)
      let key = keyspace.followerShard(streamer: "s1", generation: generation, shard: shard)
      commands.append(["SADD", key, user])
    }
    try await self.commands(commands)
  }

  /// One device each.
  func equip(_ users: [String]) async throws {
    try await commands(
      users.map { ["SADD", keyspace.bindings(user: $0), member(token($0))] })
  }

  /// A generation of followers with one device each.
  func populate(_ users: [String], shards: Int = 1, generation: Int = 1) async throws {
    try await heading(shards, generation: generation)
    try await place(users, shards: shards, generation: generation)
    try await equip(users)
  }

  /// Reads a segment to its end, in a lane of its own unless there is a `stage`; `between` runs
  /// before each further page.
  func read(
    _ segment: Segment, fields: [String] = ["locale", "name"],
    options: ExpandOptions = ExpandOptions(), stage: ExpandStage? = nil, now: Int64 = 0,
    between: (Reading) async throws -> Void = { _ in }
  ) async throws -> (reading: Reading, restarts: Int) {
    let stage = stage ?? ExpandStage(redis: self, keyspace: keyspace, options: options)
    let reader = stage.reader(
      of: stage.users(of: segment), fields: fields, topic: app, now: { now })
    var reading = Reading()
    defer { #expect(reader.takeSkippedUsers().isEmpty) }
    var failures = 0
    while true {
      do {
        let page = try await reader.next()
        for skipped in reader.takeSkippedUsers() {
          reading.passedOver.append(skipped.user)
          reading.reasons[skipped.user] = skipped.reason
        }
        guard let page else { break }
        reading.add(page)
      } catch {
        failures += 1
        guard error.isTransient, failures < 4 else { throw error }
        continue
      }
      try await between(reading)
    }
    let after = try await reader.next()
    #expect(after == nil, "a reader that is at its end stays there")
    return (reading, reader.restarts)
  }
}

extension ExpandStage {
  /// For those to whom time is nothing.
  func reader(of users: SegmentUsers, fields: [String], topic app: String) -> SegmentReader {
    reader(of: users, fields: fields, topic: app, now: { 0 })
  }
}

func failure(_ body: () async throws -> Void) async -> ExpandError? {
  do {
    try await body()
    return nil
  } catch {
    return error as? ExpandError
  }
}
