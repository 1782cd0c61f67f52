import Fixtures
import Model
import Redis
import ServerProcesses
import TestBed
import Testing
import Threads

@testable import Record

/// What Redis, or a proxy before it, answers once in a while and nobody knows.
@Suite(.serialized) struct OddRedisAnswerTests {
  private static let pageSize = 20
  private static let followers = 200

  /// Replaces one answer, as often as is left.
  private final class Change: Sendable {
    private let from: [UInt8]
    /// Bytes behind `from` that belong to the answer.
    private let rest: Int
    private let to: [UInt8]
    private let left: ThreadLock<Int>
    /// Answers that are left as they are before.
    private let passed: ThreadLock<Int>

    init(_ from: String, rest: Int = 0, _ to: String, behind: Int = 0, times: Int) {
      self.from = Array(from.utf8)
      self.rest = rest
      self.to = Array(to.utf8)
      left = ThreadLock(times)
      passed = ThreadLock(behind)
    }

    var isDone: Bool { left.withLock { $0 == 0 } }

    func apply(_ bytes: [UInt8]) -> [UInt8] {
      left.withLock { left in
        guard left > 0 else { return bytes }
        var start = 0
        while let range = bytes[start...].firstRange(of: from),
          range.upperBound + rest <= bytes.count
        {
          let isPassed = passed.withLock { passed in
            passed -= 1
            return passed >= 0
          }
          start = range.upperBound + rest
          guard !isPassed else { continue }
          left -= 1
          return bytes[..<range.lowerBound] + to + bytes[start...]
        }
        return bytes
      }
    }
  }

  private static let tokens = (1...followers).map { paddedHex($0) }

  private static let memberBytes = "apns:production:\(WorkerBed.app):".utf8.count + 64

  /// The bindings of the follower with that token.
  private static func bindings(_ token: String) -> String {
    let member = "apns:production:\(WorkerBed.app):\(token)"
    return "*1\r\n$\(member.utf8.count)\r\n\(member)\r\n"
  }

  private func run(
    _ change: Change, tokens: [String] = Self.tokens,
    _ body: (WorkerBed, TestProxy) async throws -> Void
  ) async throws {
    let bed = try await WorkerBed(redis: RedisServerProcess())
    try await bed.follow("s1", tokens: tokens)
    let proxy = try await TestProxy(to: bed.redis.port, rewriter: { change.apply($0) })
    let worker = try await bed.startWorker {
      $0.redis = RedisOptions(port: proxy.port)
      $0.expand.pageSize = Self.pageSize
      $0.lanes = 1
      $0.record.removalShare = 100
    }
    try await bed.emit("e1")
    try await body(bed, proxy)
    #expect(change.isDone)
    #expect(await worker.stop())
    await proxy.close()
  }

  @Test(arguments: ["upstream failure", ""])
  func anUnknownErrorInTheMiddleIsWaitedFor(error: String) async throws {
    let change = Change(Self.bindings(Self.tokens[150]), "-\(error)\r\n", times: 2)
    try await run(change) { bed, _ in
      let status = try await bed.finished("e1")
      #expect(status.state == .done && status.isBalanced)
      #expect(status.accepted == Self.followers && status.skipped == 0)
      #expect(await bed.simulator.summary().accepted == Self.followers, "each once")
      let waits = bed.sink.lines.filter { $0.contains("waiting to read followers from Redis") }
      #expect(waits.contains { $0.contains("SMEMBERS ffd:{u:s1-u") && $0.contains(error) })
    }
  }

  /// The rest cannot be read: the segment is a dead letter, and what was sent of it counts. Tokens
  /// that Apple calls gone are removed.
  @Test func whatWasSentBeforeARefusalCounts() async throws {
    // Of the devices of a follower behind some pages, whoever that is.
    let any = Self.bindings("").replacing("$\(Self.memberBytes - 64)", with: "$\(Self.memberBytes)")
    let change = Change(
      String(any.dropLast()), rest: 66, "-ERR unknown command 'SMEMBERS'\r\n",
      behind: Self.followers / 2, times: 1)
    let tokens = Self.tokens.enumerated().map { index, token in
      index % 2 == 1 ? "fa4efa4e0410" + token.dropFirst(12) : token
    }
    try await run(change, tokens: tokens) { bed, _ in
      let status = try await bed.finished("e1")
      #expect(status.state == .incomplete && status.settled == 0)
      let accepted = await bed.simulator.summary().accepted
      #expect(accepted > 0 && accepted < Self.followers)
      #expect(status.accepted == accepted && status.isBalanced)
      #expect(status.pruned > 0 && status.pruned == status.rejected["Unregistered"])
      _ = try await bed.until("the statistics have it") {
        try bed.redis.cli("HGET", "ff:{stats}:total", "accepted") == "\(accepted)" ? true : nil
      }
    }
  }

  /// That a window of segments is in Kafka: each of the notes is refused for good.
  @Test func aNoteThatIsRefusedCostsNoSegment() async throws {
    let shards = 256
    let bed = try await WorkerBed(redis: RedisServerProcess())
    try await bed.followInShards("s1", shards: shards, perShard: 2) { paddedHex($0 << 16 | $1) }
    let digest = Array(
      try bed.redis.cli("SCRIPT", "LOAD", DeadLetterScripts.published.source).utf8)
    let notes = ThreadLock<[Change]>([])
    let proxy = try await TestProxy(
      to: bed.redis.port,
      witness: { _, isOfClient, bytes in
        guard isOfClient, Array(bytes).contains(digest) else { return }
        notes.withLock { $0.append(Change(":1\r\n", "-ERR unknown command\r\n", times: 1)) }
      },
      rewriter: { bytes in notes.withLock { $0 }.reduce(bytes) { $1.apply($0) } })
    let worker = try await bed.startWorker {
      $0.redis = RedisOptions(port: proxy.port)
      $0.lanes = 1
    }
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.state == .done && status.isBalanced && status.settled == shards)
    #expect(status.accepted == 2 * shards && status.deadLettered == 0)
    #expect(await bed.simulator.summary().duplicates == 0)
    #expect(notes.withLock { $0.count { $0.isDone } } == 2, "one for each window")
    #expect(await worker.stop())
    await proxy.close()
  }

  @Test func whatIsNoAnswerOfAScriptBreaksTheConnection() async throws {
    let change = Change("$3\r\nnew\r\n", "$3\r\nodd\r\n", times: 1)
    try await run(change) { bed, proxy in
      let status = try await bed.finished("e1")
      #expect(status.state == .done && status.accepted == Self.followers && status.isBalanced)
      #expect(await bed.simulator.summary().accepted == Self.followers, "each once")
      #expect(await proxy.accepted() > 1)
    }
  }
}
