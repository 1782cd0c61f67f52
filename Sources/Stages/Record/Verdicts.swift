import Keyspace
import Model
import Redis
import Text
import Tokens

/// Writes Apple's answers about tokens: each user's keys by a script of their own, and the owner of
/// a token by another.
extension RecordStage {
  /// Writes the verdicts gathered so far, and takes them out of the tally, which says from then on
  /// what came of them. After a transient error repeat it with the same tally.
  package func prune(
    _ segment: Segment, _ tally: SegmentTally, now: Int64
  ) async throws(RecordError) {
    tokenJudge.hear(of: tally, topic: tally.topic, now: now)
    while !tally.verdicts.isEmpty {
      var admission = try await admission(of: tally)
      while !admission.verdicts.isEmpty {
        let verdicts = Array(admission.verdicts.prefix(options.verdictsAtOnce))
        let notes = try await note(verdicts, of: segment, tally, now: now)
        guard let notes else { return tally.dropVerdicts(tally.verdicts.count) }
        let (findings, outcomes) = try await judge(
          verdicts, source: Self.source(of: segment), now: now)
        tally.findings.add(findings)
        tally.pendingChanges.add(notes, outcomes, of: segment)
        admission.wrote(verdicts.count)
        tally.admission = admission
      }
      tally.findings.withheld += admission.withheldUnusable
      tally.findings.pruneWithheld += admission.withheldGone
      tally.dropVerdicts(admission.count)
    }
  }

  /// A repetition of a segment's verdicts has the same answers.
  static func source(of segment: Segment) -> String { "\(segment.event.id) \(segment.id)" }

  /// Writes verdicts when a segment has gathered more than a few round trips' worth of them, so
  /// that the memory of a very large one stays bounded, and counts what came of them.
  package func pruneSurplus(
    _ segment: Segment, _ tally: SegmentTally, owner: String, now: Int64
  ) async throws(RecordError) {
    guard tally.verdicts.count >= 4 * options.verdictsAtOnce else { return }
    try await prune(segment, tally, now: now)
    let reply = try await run(
      PruneScript.count, segment.event, now: now,
      arguments: ["segment": segment.id, "owner": owner] + Self.removals(of: tally))
    guard reply[0].text == "counted" else {
      throw .unexpected(reply.kind, from: "the script that counts verdicts")
    }
  }

  /// Tokens taken out and set aside since the run began, as the scripts take them.
  static func removals(of tally: SegmentTally) -> ScriptArguments {
    [
      "pruned": String(tally.findings.pruned), "quarantined": String(tally.findings.quarantined),
    ]
  }

  /// Decides which of the tally's verdicts may be written: none of unusable tokens while Apple's
  /// answers for the same topic and environment do not show that our own configuration is right,
  /// and none of tokens that are gone while too many of the answers there say so.
  private func admission(of tally: SegmentTally) async throws(RecordError) -> VerdictAdmission {
    var admission =
      tally.admission
      ?? tokenJudge.admission(of: tally, topic: tally.topic)
    tally.admission = admission
    while let question = admission.questions.last {
      admission.answer(
        mayRemove: try await mayRemove(
          question.removals, of: question.answers, topic: tally.topic, question.destination))
      tally.admission = admission
    }
    return admission
  }

  /// Writes verdicts, and says what came of them. After a transient error repeat it with the same
  /// source.
  /// - Parameter source: names who heard them: a verdict that the same source repeats on a binding
  ///   has the same answer.
  package func prune(
    _ verdicts: [TokenVerdict], source: String, now: Int64
  ) async throws(RecordError) -> PruneFindings {
    try await judge(verdicts, source: source, now: now).findings
  }

  /// As above, and what came of each.
  func judge(
    _ verdicts: [TokenVerdict], source: String, now: Int64
  ) async throws(RecordError) -> (findings: PruneFindings, outcomes: [VerdictOutcome]) {
    var findings = PruneFindings()
    var outcomes = [VerdictOutcome](repeating: .nothing, count: verdicts.count)
    guard !verdicts.isEmpty else { return (findings, outcomes) }
    // In the order of each user's first verdict.
    let users = Dictionary(grouping: verdicts.indices) { ExactText(verdicts[$0].user) }
      .sorted { ($0.value.first ?? 0) < ($1.value.first ?? 0) }
    let replies = try await evaluate(
      PruneScript.prune,
      users.map { user, places in
        ScriptCall(
          keys: keyspace.deviceKeys(user: user.text)
            + [keyspace.verdicts(user: user.text), keyspace.undated(user: user.text)],
          arguments: [
            "source": source, "receipt_seconds": String(Keyspace.receiptLifetimeSeconds),
            "now": String(now),
            "pruned_lifetime_seconds": String(Keyspace.prunedLifetimeSeconds),
            "pruned_maximum": String(Keyspace.prunedMaximum),
            "undated_lifetime_seconds": String(Keyspace.undatedLifetimeSeconds),
            "earliest_ms": String(BindingTime.earliest),
            "tolerance_ms": String(BindingTime.tolerance),
          ], list: places.flatMap { verdicts[$0].finding.arguments + [verdicts[$0].member] })
      })
    var freed: [TokenVerdict] = []
    for (index, (_, places)) in users.enumerated() {
      let reply = replies[index]
      for (number, place) in places.enumerated() {
        switch reply[number].integer {
        case 0: break
        case 1:
          findings.refused += 1
          outcomes[place] = .refused
        case 2:
          findings.pruned += 1
          outcomes[place] = .removed
        case 3:
          findings.pruned += 1
          outcomes[place] = .removed
          freed.append(verdicts[place])
        case 4:
          findings.quarantined += 1
          outcomes[place] = .quarantined
        case 5:
          findings.undated += 1
          outcomes[place] = .refused
        default: throw .unexpected(reply.kind, from: "the script that takes tokens out")
        }
      }
      findings.failed += Int(reply[places.count].integer ?? 0)
    }
    findings.failed += try await release(freed)
    return (findings, outcomes)
  }

  /// Nobody owns these tokens any more, unless their users have bound them again meanwhile. While
  /// they may be restored, whoever binds one takes it from its user. Returns how many have keys of
  /// another type.
  private func release(_ freed: [TokenVerdict]) async throws(RecordError) -> Int {
    do {
      return try await TokenMoves(redis: redis, keyspace: keyspace)
        .release(
          freed.map { (token: Binding.token(ofMember: $0.member), user: $0.user) },
          keptFor: Keyspace.prunedLifetimeSeconds)
    } catch {
      throw RecordError(error)
    }
  }
}

/// The result of Apple's verdict on a token.
enum VerdictOutcome: Sendable {
  /// It was not bound.
  case nothing
  /// The binding is younger than Apple's word, or may be.
  case refused
  case removed
  case quarantined
}

extension TokenVerdict.Finding {
  /// Kind, Apple's timestamp, and its reason.
  fileprivate var arguments: [String] {
    switch self {
    case .gone(let since, let reason): ["gone", String(since), reason.name]
    case .unusable(let reason): ["unusable", "", reason.name]
    }
  }
}

/// The scripts that take tokens out of Redis of which Apple says that they are gone or unusable. A
/// user and a token have hash tags of their own, and so a script each.
enum PruneScript {
  static let prune = RedisScript([
    SharedLua.permissions, PackageResources.trying_lua, TokenLua.tokenOf, TokenLua.holding,
    PackageResources.prune_lua,
  ])
  static let count = RedisScript(
    RecordScripts.event
      + [PackageResources.verdict_counts_lua, PackageResources.count_verdicts_lua])
}

/// The script that counts how many of an app's answers are 410s, for all workers and lanes
/// together.
enum RemovalScript {
  static let ask = RedisScript([PackageResources.may_remove_lua])
}

extension RecordStage {
  /// Whether devices may be removed that Apple calls gone. They count, whatever is said.
  /// - Parameter answers: for the same app and environment since the last call, these among them.
  func mayRemove(
    _ removals: Int, of answers: Int, topic: String, _ destination: Destination
  ) async throws(RecordError) -> Bool {
    guard options.removalShare < 100 else { return true }
    let reply = try await evaluate(
      RemovalScript.ask,
      keys: [keyspace.removals(topic: topic, environment: destination.name)],
      arguments: [
        "answers": String(answers), "removals": String(removals),
        "samples": String(options.removalSamples), "share": String(options.removalShare),
        "window_ms": String(options.removalWindow.wholeMilliseconds),
        "lifetime_seconds": String(Keyspace.removalsLifetimeSeconds),
      ])
    guard let may = reply.integer else {
      throw .unexpected(reply.kind, from: "the script that counts removals")
    }
    return may == 1
  }
}
