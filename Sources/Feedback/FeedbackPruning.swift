import Keyspace
import Legacy
import Model
import Record
import Redis
import Terminal
import VerbSupport

/// Takes out of Redis what a feedback service says is gone, by the same script and rule as a 410:
/// only when the word is not older than the binding. It names no topic, so it is said of the token
/// in each app of the environment.
package struct FeedbackPruning {
  /// Tokens of one round trip.
  private static let page = 500

  private let redis: RedisClient
  private let keyspace: Keyspace
  private let environment: Destination

  package init(redis: RedisClient, keyspace: Keyspace, isSandbox: Bool) {
    self.redis = redis
    self.keyspace = keyspace
    environment = isSandbox ? .sandbox : .production
  }

  /// - Parameters:
  ///   - writes: false: it is only told.
  ///   - now: ms since 1970.
  package func run(
    _ tuples: [FeedbackTuple], writes: Bool, now: Int64
  ) async throws(CommandFailure) -> FeedbackCounts {
    var counts = FeedbackCounts()
    counts.told = tuples.count
    // The last word on a token is the one that matters.
    let latest = Dictionary(
      tuples.map { ($0.hexToken, $0.milliseconds) }, uniquingKeysWith: { max($0, $1) })
    let tokens = latest.sorted { $0.key < $1.key }
    for start in stride(from: 0, to: tokens.count, by: Self.page) {
      let page = tokens[start..<min(start + Self.page, tokens.count)]
      let verdicts = try await verdicts(Array(page), &counts)
      guard !verdicts.isEmpty else { continue }
      if writes {
        try await prune(verdicts, now: now, &counts)
      } else {
        try await foresee(verdicts, now: now, &counts)
      }
    }
    return counts
  }

  /// Returns the owners of these tokens, with the bindings.
  private func verdicts(
    _ tokens: [(key: String, value: Int64)], _ counts: inout FeedbackCounts
  ) async throws(CommandFailure) -> [TokenVerdict] {
    let owners = try await ask(tokens.map { ["GET", keyspace.tokenOwner(token: $0.key)] })
    var owned: [(token: String, since: Int64, user: String)] = []
    for (index, token) in tokens.enumerated() {
      if owners[index].error != nil {
        counts.failed += 1
      } else if let user = owners[index].text, Keyspace.isIdentifier(user) {
        owned.append((token.key, token.value, user))
      } else {
        counts.unknown += 1
      }
    }
    guard !owned.isEmpty else { return [] }
    let bindings = try await ask(owned.map { ["SMEMBERS", keyspace.bindings(user: $0.user)] })
    var verdicts: [TokenVerdict] = []
    for (index, one) in owned.enumerated() {
      guard bindings[index].error == nil else {
        counts.failed += 1
        continue
      }
      let members = (0..<bindings[index].count).compactMap { bindings[index][$0].text }.filter {
        $0.hasPrefix("apns:\(environment.name):") && $0.hasSuffix(":" + one.token)
      }
      if members.isEmpty { counts.unknown += 1 }
      verdicts += members.map {
        TokenVerdict(
          user: one.user, member: $0, finding: .gone(since: one.since, reason: .unregistered))
      }
    }
    return verdicts
  }

  private func prune(
    _ verdicts: [TokenVerdict], now: Int64, _ counts: inout FeedbackCounts
  ) async throws(CommandFailure) {
    let findings: PruneFindings
    do throws(RecordError) {
      findings = try await RecordStage(redis: redis, keyspace: keyspace)
        .prune(verdicts, source: "feedback \(now)", now: now)
    } catch {
      throw CommandFailure(
        error.code.ofRedis.map(CommandFailure.code) ?? .failed, error.description)
    }
    counts.pruned += findings.pruned
    counts.kept += findings.refused + findings.undated + findings.quarantined
    counts.failed += findings.failed
  }

  /// Counts what the script would do.
  private func foresee(
    _ verdicts: [TokenVerdict], now: Int64, _ counts: inout FeedbackCounts
  ) async throws(CommandFailure) {
    let times = try await ask(
      verdicts.map { ["HGET", keyspace.bound(user: $0.user), $0.member] })
    for (index, verdict) in verdicts.enumerated() {
      guard case .gone(let since, _) = verdict.finding else { continue }
      let time = times[index]
      guard time.error == nil else {
        counts.failed += 1
        continue
      }
      let boundAt = time.text.flatMap { Int64($0) }
      let isKnown = boundAt.map { BindingTime.isPossible($0, now: now) } ?? (time.bytes == nil)
      let isOlder = isKnown && BindingTime.isPossible(since, now: now) && boundAt ?? 0 <= since
      if isOlder { counts.pruned += 1 } else { counts.kept += 1 }
    }
  }

  private func ask(_ commands: [[String]]) async throws(CommandFailure) -> RedisReplies {
    let pipeline = RedisPipeline()
    for command in commands { pipeline.append(command) }
    do throws(RedisError) {
      return try await redis.execute(pipeline)
    } catch {
      throw CommandFailure(error)
    }
  }
}

/// Counts of the tokens that a feedback service told, by outcome.
package struct FeedbackCounts: Sendable, Equatable {
  /// Tokens that it told.
  package var told = 0
  /// Bindings taken out, or that would be.
  package var pruned = 0
  /// Bindings that are younger than the word, or whose time cannot be read: kept.
  package var kept = 0
  /// Tokens that nobody has.
  package var unknown = 0
  /// Keys of another type, or that Redis refused.
  package var failed = 0

  package init() {}

  package func summary(isDryRun: Bool) -> Summary {
    var text = Summary()
    text.add("told", told, note: "tokens")
    text.add(isDryRun ? "would be pruned" : "pruned", pruned, note: "bindings", indent: 1)
    text.add("kept", kept, note: "bindings that are younger", indent: 1)
    text.add("unknown", unknown, note: "tokens that nobody has", indent: 1)
    if failed > 0 {
      text.add("failed", failed, note: "keys of another type", mark: .bad, indent: 1)
    }
    return text
  }

  package func json(isDryRun: Bool) -> JSONOutput {
    [
      "dry_run": .bool(isDryRun), "told": .integer(told), "pruned": .integer(pruned),
      "kept": .integer(kept), "unknown": .integer(unknown), "failed": .integer(failed),
    ]
  }
}
