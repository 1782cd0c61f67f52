import Fixtures
import Redis
import Testing

@testable import Expand

/// The bytes of snapshots: written, read, cut, foreign.
@Suite struct SnapshotLayoutTests {
  private static let stamp = SnapshotStamp(writer: 0x0102_0304_0506_0708, batch: 9)

  /// Stores a user so, and reads what is there in another order of fields.
  private func roundTrip(
    _ redis: RedisClient, members: [String], profile: [String: String], isTold: Bool = true,
    stored: [String] = ["muted", "name", "city"], wanted: [String] = ["city", "muted"]
  ) async throws -> (bytes: [UInt8], text: String) {
    _ = try await redis.ask("DEL", "set", "hash", "copy:u")
    if !members.isEmpty { try await redis.commands([["SADD", "set"] + members]) }
    for (field, value) in profile { _ = try await redis.ask("HSET", "hash", field, value) }
    let replies = try await redis.execute(
      RedisPipeline(["SMEMBERS", "set"], ["HMGET", "hash"] + stored))
    let pipeline = RedisPipeline()
    var writer = SnapshotWriter(key: (Array("copy:".utf8), []), fields: stored)
    Array("u".utf8).withUnsafeBytes {
      writer.append(
        $0, bindings: replies[0], profile: replies[1], isTold: isTold, Self.stamp,
        to: pipeline)
    }
    _ = try await redis.execute(pipeline)
    let there = try await redis.execute(RedisPipeline(["GET", "copy:u"]))
    let bytes = Array(try #require(there[0].bytes))
    #expect(bytes.withUnsafeBytes { SnapshotReader.stamp(of: $0) } == Self.stamp)
    var reader = SnapshotReader(fields: wanted)
    return (bytes, shown(reader.read(there[0])))
  }

  private func shown(_ content: SnapshotReader.Content) -> String {
    switch content {
    case .absent: return "absent"
    case .unfit: return "unfit"
    case .whole(let bindings, let profile):
      let members = (0..<bindings.count).map { bindings[$0].text ?? "?" }.sorted()
      let values = (0..<profile.count).map { profile[$0].text ?? "nil" }
      return (members + ["|"] + values).joined(separator: " ")
    }
  }

  @Test func whatIsStoredIsRead() async throws {
    try await RedisFixture().run { redis async throws in
      let one = try await roundTrip(
        redis, members: ["b", "a"], profile: ["city": "Ulm", "x": "y"])
      #expect(one.text == "a b | Ulm nil")
      let none = try await roundTrip(redis, members: [], profile: [:])
      #expect(none.text == "| nil nil")
      let empty = try await roundTrip(redis, members: [""], profile: ["muted": "", "name": "n"])
      #expect(empty.text == " | nil ")
      let lacking = try await roundTrip(
        redis, members: ["a"], profile: ["name": "n"], stored: ["name"])
      #expect(lacking.text == "absent")
      // As long, and another name.
      let other = try await roundTrip(
        redis, members: ["a"], profile: ["name": "n"], stored: ["nama"], wanted: ["name"])
      #expect(other.text == "absent")
    }
  }

  @Test func whatIsLargeOrDoesNotLastIsUnfit() async throws {
    try await RedisFixture().run { redis async throws in
      let brief = try await roundTrip(redis, members: ["a"], profile: [:], isTold: false)
      #expect(brief.text == "unfit")
      #expect(brief.bytes.count == SnapshotLayout.kindOffset + 1)
      // Head, names, three values, one member: what is left fits, and a byte more does not.
      let room = SnapshotLayout.maximumBytes - 16 - 16 - 3 * 2 - 2 - 2
      for (length, text) in [(room, "fits"), (room + 1, "unfit")] {
        let member = String(repeating: "m", count: length)
        let large = try await roundTrip(redis, members: [member], profile: [:])
        #expect(large.text == (text == "fits" ? "\(member) | nil nil" : "unfit"))
      }
      let many = (0...SnapshotLayout.maximumFields).map { "f\($0)" }
      let wide = try await roundTrip(redis, members: ["a"], profile: [:], stored: many, wanted: [])
      #expect(wide.text == "unfit")
    }
  }

  /// One reader for many: the names of the one before say nothing of the next.
  @Test func eachSnapshotIsReadByItsOwnNames() async throws {
    try await RedisFixture().run { redis async throws in
      let first = try await roundTrip(
        redis, members: [], profile: ["aa": "1", "bb": "2"], stored: ["aa", "bb"], wanted: [])
      let second = try await roundTrip(
        redis, members: [], profile: ["aa": "1", "bb": "2"], stored: ["bb", "aa"], wanted: [])
      let pipeline = RedisPipeline()
      for bytes in [first.bytes, second.bytes, first.bytes] {
        Array("ECHO".utf8).withUnsafeBytes { echo in
          bytes.withUnsafeBytes { pipeline.append(slices: [echo, $0]) }
        }
      }
      let replies = try await redis.execute(pipeline)
      var reader = SnapshotReader(fields: ["aa"])
      #expect((0..<3).map { shown(reader.read(replies[$0])) } == ["| 1", "| 1", "| 1"])
    }
  }

  /// Whatever is at the key, in whatever length: nothing traps, and nothing is read from it.
  @Test func whatIsCutOrForeignIsAbsent() async throws {
    try await RedisFixture().run { redis async throws in
      let whole = try await roundTrip(redis, members: ["a", "bc"], profile: ["city": "Ulm"])
      var all = (0..<whole.bytes.count).map { Array(whole.bytes.prefix($0)) }
      all.append(whole.bytes + [0])
      all.append([UInt8](repeating: 0xFF, count: 40))
      var other = whole.bytes
      other[SnapshotLayout.kindOffset] = 3
      all.append(other)
      let pipeline = RedisPipeline()
      for bytes in all {
        Array("ECHO".utf8).withUnsafeBytes { echo in
          bytes.withUnsafeBytes { pipeline.append(slices: [echo, $0]) }
        }
      }
      let replies = try await redis.execute(pipeline)
      for index in all.indices {
        var reader = SnapshotReader(fields: ["city"])
        #expect(shown(reader.read(replies[index])) == "absent", "\(all[index].count) bytes")
      }
      for length in 0...SnapshotLayout.kindOffset {
        let bytes = Array(whole.bytes.prefix(length))
        #expect(bytes.withUnsafeBytes { SnapshotReader.stamp(of: $0) } == nil)
      }
    }
  }
}
