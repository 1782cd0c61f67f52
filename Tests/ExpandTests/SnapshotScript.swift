import EventLoop
import Keyspace
import Model
import Redis
import Testing

@testable import Expand

/// A server whose users all have snapshots that are trusted, with another device than their sets
/// have. Confined to its loop.
final class SnapshotScript {
  let users: [String]
  private(set) var log: [String] = []
  private var fake: FakeRedis?
  /// Runs before a command is answered; what it returns is the answer.
  var before: ([String]) -> String? = { _ in nil }
  /// Up to which batch the writer of all snapshots has vouched.
  var vouched = 5
  /// Tells of a write as soon as a fence is asked for, and refuses to delete what it made wrong.
  var losesDeletions = false
  /// Each connection leads to the other of two processes.
  var alternates = false
  private var connections = 0

  init(users: Int, loop: EventLoop) throws {
    self.users = (0..<users).map { "u\($0)" }
    fake = try FakeRedis(loop: loop) { [weak self] in self?.answer($0) }
  }

  var port: Int { fake?.port ?? 0 }
  func tell(_ keys: [String]?) { fake?.tell(keys) }
  func closeSubscribed() { fake?.closeSubscribed() }

  func close() {
    fake?.close()
    fake = nil
  }

  private func answer(_ command: [String]) -> String? {
    log.append(command.prefix(2).joined(separator: " "))
    if let answer = before(command) { return answer }
    if losesDeletions {
      if command[0] == "DEL" { return "-NOPERM no\r\n" }
      if command == ["PING", "subscribed"], !log.contains("told") {
        log.append("told")
        tell([keyspace.bindings(user: "u1")])
      }
    }
    switch command[0] {
    case "INFO" where command[1] == "server":
      connections += 1
      return Self.string("run_id:\(alternates ? connections % 2 : 0)\r\n")
    case "INFO": return Self.string("used_memory:1\r\nmaxmemory:0\r\n")
    case "CLIENT" where command[1] == "ID": return ":7\r\n"
    case "CLIENT", "SET": return "+OK\r\n"
    case "SUBSCRIBE": return "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n"
    case "EVAL": return evaluate(command)
    case "DEL": return ":1\r\n"
    case "MGET": return Self.array(command.dropFirst().map { Self.snapshot(of: $0) })
    case "SMEMBERS" where command[1].contains("{f:"): return Self.array(users)
    case "SMEMBERS": return Self.array([member("5e")])
    case "PTTL": return ":-2\r\n"
    default: return nil
    }
  }

  /// The scripts of the registry: `look` has eight words, `vouch` too, and begins with an epoch.
  private func evaluate(_ command: [String]) -> String {
    guard command.count == 8 else {
      log.append("end")
      return ":1\r\n"
    }
    let isVouch = command[4].contains(":")
    log.append(isVouch ? "vouch" : "look")
    if log.contains("end") { vouched = 0 }
    let epoch = isVouch ? command[4] : "\(command[4]):\(command[5])"
    let own = isVouch ? [command[5], command[6]] : []
    return Self.array(["epoch", epoch, "101010101010101", "\(vouched)"] + own)
  }

  /// Of a writer of eight bytes 1, in batch 5, with the device that the user's number names.
  private static func snapshot(of key: String) -> String {
    let user = key.drop { $0 != "u" }.dropFirst(2).dropLast()
    let member = member(token(String(user)))
    let names = "\u{5}muted\u{4}name"
    return String(repeating: "\u{1}", count: 8) + "\u{5}\0\0\0\u{1}\u{2}"
      + "\(Character(UnicodeScalar(UInt8(names.utf8.count))))\0" + names + "\0\0\0\0"
      + "\u{1}\0\(Character(UnicodeScalar(UInt8(member.utf8.count))))\0" + member
  }

  private static func string(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }
  private static func array(_ texts: [String]) -> String {
    "*\(texts.count)\r\n" + texts.map { string($0) }.joined()
  }
}

/// A lane that keeps snapshots at such a server.
struct ScriptedSnapshots {
  let server: SnapshotScript
  let loop: EventLoop
  let stage: ExpandStage
  let log: SnapshotBed.Log

  var figures: SnapshotFigures { stage.snapshotFigures ?? SnapshotFigures() }

  /// Who is read from a set, in the place of a snapshot.
  func readPlainly() async throws -> Set<String> {
    let reader = stage.reader(of: stage.users(of: shard(0, of: 2)), fields: ["name"], topic: app)
    var reading = Reading()
    while let page = try await reader.next() { reading.add(page) }
    #expect(reading.users.count == server.users.count)
    let plain = reading.tokens.filter { $0.value == ["5e"] }
    for (user, tokens) in reading.tokens where plain[user] == nil {
      #expect(tokens == [token(user)])
    }
    return Set(plain.keys)
  }

  /// Twice, so that the lane knows what the registry says now.
  func giveWords() async throws {
    let given = server.log.count { $0 == "vouch" }
    try await until("words are given") { server.log.count { $0 == "vouch" } > given + 1 }
  }

  /// Of one user, when words are given between question and answer.
  func hits(_ change: () -> Void) async throws -> Int {
    let snapshots = try #require(stage.snapshots)
    let user = ByteArena()
    let slice = user.append(utf8: "u1")
    let group = SnapshotGroup(try #require(snapshots.onlyServer), users: [0])
    change()
    try await giveWords()
    let answers = Countdown(of: 1)
    group.server.server.send(snapshots.question(about: 1) { _ in user[slice] }) {
      group.replies = $0
      answers.arrive()
    }
    await answers.wait()
    var reader = SnapshotReader(fields: ["name"])
    _ = group.sort(&reader, snapshots) { _, _, _ in }
    return group.hits.count
  }

  /// Looks every other millisecond, for a minute.
  func until(_ what: String, _ condition: () -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while !condition() {
      try #require(ContinuousClock.now < deadline, "waited a minute until \(what): \(log.lines)")
      await loop.wait(.milliseconds(2))
    }
  }
}
