import Keyspace
import Model
import Redis
import Tokens

/// What Apple says of tokens: each user's keys by a script of their own, and the owner of a token
/// by another.
extension RecordStage {
  /// Writes the verdicts gathered so far, and takes them out of the tally, which says from then on
  /// what came of them. After a transient error repeat it with the same tally.
  package func prune(
    _ segment: Segment, _ tally: SegmentTally, now: Int64
  ) async throws(RecordError) {
    while !tally.verdicts.isEmpty {
      let taken = min(options.verdictsAtOnce, tally.verdicts.count)
      let (verdicts, withheld) = admissible(
        tally.verdicts.prefix(taken), segment, tally, now: now)
      var findings = try await prune(
        verdicts, source: "\(segment.event.id) \(segment.id)", now: now)
      findings.withheld = withheld
      tally.findings.add(findings)
      tally.dropVerdicts(taken)
    }
  }

  /// Writes verdicts when a segment has gathered more than a few round trips' worth of them, so
  /// that the memory of a very large one stays bounded, and counts what came of them.
  package func pruneSurplus(
    _ segment: Segment, _ tally: SegmentTally, owner: String, now: Int64
  ) async throws(RecordError) {
    guard tally.verdicts.count >= 4 * options.verdictsAtOnce else { return }
    try await prune(segment, tally, now: now)
    let reply = try await run(
      PruneScript.count, segment.event, now: now,
      arguments: [segment.id, owner] + Self.removals(of: tally))
    guard reply[0].text == "counted" else {
      throw .unexpected(reply.kind, from: "the script that counts verdicts")
    }
  }

  /// Tokens taken out and set aside since the run began, as the scripts take them.
  static func removals(of tally: SegmentTally) -> [String] {
    [String(tally.findings.pruned), String(tally.findings.quarantined)]
  }

  /// The verdicts that may be written: without those on unusable tokens while what Apple took of
  /// the same topic and environment does not show that our own configuration is right.
  private func admissible(
    _ verdicts: ArraySlice<TokenVerdict>, _ segment: Segment, _ tally: SegmentTally, now: Int64
  ) -> (verdicts: [TokenVerdict], withheld: Int) {
    unusableTokens.hear(of: tally, topic: tally.topic, now: now)
    let kept = verdicts.filter { verdict in
      guard verdict.finding.isUnusable else { return true }
      return unusableTokens.maySetAside(verdict, topic: tally.topic)
    }
    return (kept, verdicts.count - kept.count)
  }

  /// Writes verdicts, and says what came of them. After a transient error repeat it with the same
  /// source.
  /// - Parameter source: names who heard them: a verdict that the same source repeats on a binding
  ///   has the same answer.
  package func prune(
    _ verdicts: [TokenVerdict], source: String, now: Int64
  ) async throws(RecordError) -> PruneFindings {
    var findings = PruneFindings()
    guard !verdicts.isEmpty else { return findings }
    let users = Array(Dictionary(grouping: verdicts, by: \.user))
    let replies = try await evaluate(
      PruneScript.prune,
      users.map { user, verdicts in
        ScriptCall(
          keys: keyspace.deviceKeys(user: user) + [keyspace.verdicts(user: user)],
          arguments: [
            source, String(Keyspace.receiptLifetimeSeconds), String(now),
          ] + verdicts.flatMap { $0.finding.arguments + [$0.member] })
      })
    var freed: [TokenVerdict] = []
    for (index, (_, verdicts)) in users.enumerated() {
      let reply = replies[index]
      for (place, verdict) in verdicts.enumerated() {
        switch reply[place].integer {
        case 0: break
        case 1: findings.refused += 1
        case 2: findings.pruned += 1
        case 3:
          findings.pruned += 1
          freed.append(verdict)
        case 4: findings.quarantined += 1
        default: throw .unexpected(reply.kind, from: "the script that takes tokens out")
        }
      }
      findings.failed += Int(reply[verdicts.count].integer ?? 0)
    }
    findings.failed += try await release(freed)
    return findings
  }

  /// Nobody owns these tokens any more, unless their users have bound them again meanwhile. Returns
  /// how many have keys of another type.
  private func release(_ freed: [TokenVerdict]) async throws(RecordError) -> Int {
    do {
      return try await TokenMoves(redis: redis, keyspace: keyspace)
        .release(freed.map { (token: Self.token(of: $0), user: $0.user) })
    } catch {
      throw RecordError(error)
    }
  }

  private static func token(of verdict: TokenVerdict) -> String {
    verdict.member.utf8.lastIndex(of: 0x3A).map {
      String(verdict.member[verdict.member.utf8.index(after: $0)...])
    } ?? verdict.member
  }
}

extension TokenVerdict.Finding {
  fileprivate var isUnusable: Bool {
    switch self {
    case .gone: false
    case .unusable: true
    }
  }

  /// Kind, and Apple's timestamp or reason.
  fileprivate var arguments: [String] {
    switch self {
    case .gone(let since): ["gone", String(since)]
    case .unusable(let reason): ["unusable", reason.name]
    }
  }
}
