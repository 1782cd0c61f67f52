import Keyspace
import Model
import Redis
import ServerProcesses
import Testing
import Text

@testable import Expand

/// Whoever writes to a user's set or hash, in whatever way: who reads after the answer finds it.
@Suite struct SnapshotWriteTests {
  struct Write: Sendable, CustomTestStringConvertible {
    let commands: [[String]]
    /// Of the first user.
    var tokens: [String]?
    var name: String?

    var testDescription: String {
      commands.map { $0.joined(separator: " ") }.joined(separator: "; ")
    }
  }

  static let bindings = keyspace.bindings(user: "u1")
  static let profile = keyspace.profile(user: "u1")
  static let own = token("u1")

  static let writes: [Write] = [
    Write(
      commands: [["SADD", bindings, member("aabb")]], tokens: [own, "aabb"], name: "Name of u1"),
    Write(commands: [["SREM", bindings, member(own)]], tokens: nil),
    Write(commands: [["SPOP", bindings]], tokens: nil),
    Write(commands: [["DEL", bindings]], tokens: nil),
    Write(commands: [["UNLINK", bindings]], tokens: nil),
    Write(commands: [["PEXPIRE", bindings, "0"]], tokens: nil),
    Write(commands: [["SMOVE", bindings, "elsewhere", member(own)]], tokens: nil),
    Write(commands: [["RENAME", bindings, "elsewhere"]], tokens: nil),
    Write(
      commands: [["SADD", "other", member("aabb")], ["RENAME", "other", bindings]],
      tokens: ["aabb"], name: "Name of u1"),
    Write(
      commands: [["SADD", "other", member("aabb")], ["COPY", "other", bindings, "REPLACE"]],
      tokens: ["aabb"], name: "Name of u1"),
    Write(
      commands: [["SADD", "other", member("aabb")], ["SUNIONSTORE", bindings, "other"]],
      tokens: ["aabb"], name: "Name of u1"),
    Write(
      commands: [
        ["EVAL", "return redis.call('SREM', KEYS[1], ARGV[1])", "1", bindings, member(own)]
      ],
      tokens: nil),
    Write(commands: [["HSET", profile, "name", "Ann"]], tokens: [own], name: "Ann"),
    Write(commands: [["HDEL", profile, "name"]], tokens: [own], name: nil),
    Write(commands: [["DEL", profile]], tokens: [own], name: nil),
    Write(commands: [["FLUSHDB"], ["SADD", "ffd:{f:s1:1:0}", "u1"]], tokens: nil),
    Write(commands: [["FLUSHALL"], ["SADD", "ffd:{f:s1:1:0}", "u1"]], tokens: nil),
  ]

  @Test(arguments: writes) func isSeenByEverybodyAtOnce(write: Write) async throws {
    let server = try RedisServerProcess()
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      let user = try #require(bed.users.contains("u1") ? "u1" : nil)
      let lanes = [try await bed.trustingLane(), try await bed.trustingLane()]
      for lane in lanes { try await lane.warm(bed.users.count) }
      for command in write.commands { try server.cli(command) }
      for lane in lanes {
        let reading = try await lane.read()
        #expect(Set(reading.tokens[user] ?? []) == Set(write.tokens ?? []))
        if write.tokens != nil { #expect(reading.fields[user] == [write.name]) }
      }
    }
  }

  /// Lanes that read and store, and somebody who knows nothing of them and writes between. After
  /// each answer all that is read is what was written.
  @Test(arguments: [1, 2] as [UInt64]) func isSeenAmongManyByAnyLane(seed: UInt64) async throws {
    let server = try RedisServerProcess()
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      var random = SplitMix64(seed: seed)
      var model = Dictionary(uniqueKeysWithValues: bed.users.map { ($0, Person($0)) })
      var lanes = [try await bed.trustingLane(), try await bed.trustingLane()]
      for lane in lanes { try await lane.warm(bed.users.count) }
      let before = lanes[0].figures.hits
      for step in 0..<200 {
        for _ in 0..<Int.random(in: 0...3, using: &random) {
          let user = bed.users.randomElement(using: &random) ?? "u1"
          try model[user]?.change(by: &random, at: server)
        }
        // Who comes later trusts what others have stored.
        if step == 100 { lanes[1] = try await bed.trustingLane() }
        let reading = try await lanes[Int.random(in: 0...1, using: &random)].read()
        for (user, person) in model {
          #expect(Set(reading.tokens[user] ?? []) == person.tokens, "step \(step), \(user)")
          guard !person.tokens.isEmpty else { continue }
          #expect(reading.fields[user] == [person.name], "step \(step), \(user)")
        }
      }
      #expect(lanes[0].figures.hits - before > 300, "many come from snapshots")
    }
  }

  /// One user as a model has it.
  struct Person {
    let user: String
    var tokens: Set<String>
    var name: String?

    init(_ user: String) {
      self.user = user
      tokens = [token(user)]
      name = "Name of \(user)"
    }

    mutating func change(by random: inout SplitMix64, at server: RedisServerProcess) throws {
      let new = String(UInt32.random(in: 0x1000_0000...(.max), using: &random), radix: 16)
      let bindings = keyspace.bindings(user: user)
      let profile = keyspace.profile(user: user)
      switch Int.random(in: 0..<6, using: &random) {
      case 0, 1:
        tokens.insert(new)
        try server.cli("SADD", bindings, member(new))
      case 2:
        guard let old = tokens.min() else { return }
        tokens.remove(old)
        try server.cli("SREM", bindings, member(old))
      case 3:
        name = new
        try server.cli("HSET", profile, "name", new)
      case 4:
        name = nil
        try server.cli("HDEL", profile, "name")
      default:
        tokens = []
        try server.cli("DEL", bindings)
      }
    }
  }
}
