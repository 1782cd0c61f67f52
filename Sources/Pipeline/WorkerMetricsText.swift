import Deliver
import Ingest
import Model
import Telemetry

extension WorkerMetrics {
  /// What a worker says of itself, in Prometheus' text.
  static func text(_ figures: WorkerFigures, isStopping: Bool = false) -> PrometheusText {
    var text = PrometheusText()
    let versions = build.labels.dropFirst().map { figures.libraries[$0] ?? "" }
    text.append(build, [([figures.version] + versions, 1)])
    appendEvents(figures, to: &text)
    appendPushes(figures, to: &text)
    text.append(redisTimes, histograms: [([], figures.redisTimes)])
    text.append(redisFailures, Double(figures.redisFailures))
    text.append(redisReconnects, Double(figures.brokenRedisConnections))
    text.append(
      replicaReads,
      [
        (["replica"], Double(figures.replicaReads)), (["master"], Double(figures.replicaFallBacks)),
      ])
    text.append(replicaLag, (figures.replicaLag ?? .zero) / .seconds(1))
    appendKafka(figures, to: &text)
    appendWhatIsThere(figures, isStopping: isStopping, to: &text)
    return text
  }

  private static func appendEvents(_ figures: WorkerFigures, to text: inout PrometheusText) {
    let counts = figures.counts
    text.append(
      events,
      series(
        counts,
        [
          "ok": .eventsOK, "malformed": .eventsMalformed, "dead_lettered": .eventsDeadLettered,
          "expired": .eventsExpired,
          "duplicate": .eventsDuplicate, "resumed": .eventsResumed, "stopped": .eventsStopped,
          "no_audience": .eventsWithoutAudience, "stream_ended": .streamsEnded,
        ]))
    text.append(eventAges, histograms: [([], figures.eventAges)])
    text.append(fanOuts, Double(figures.fanOuts.count))
    text.append(fanOutTimes, histograms: [([], figures.fanOutTimes)])
    text.append(firstPushTimes, histograms: [([], figures.firstPushTimes)])
    text.append(
      deadLetters,
      IngestError.Code.allCases.enumerated().map {
        ([$1.rawValue], Double(counts.deadLetters[$0]))
      })
    text.append(
      segments,
      series(counts, ["settled": .segmentsSettled, "already_settled": .segmentsAlreadySettled]))
  }

  private static func appendPushes(_ figures: WorkerFigures, to text: inout PrometheusText) {
    let counts = figures.counts
    text.append(recipients, Double(counts[.recipients]))
    text.append(pending, figures.pendingRecipients)
    text.append(skipped, Double(counts[.skipped]))
    text.append(
      unknownValues, series(counts, ["tz": .unknownZones, "locale": .unknownLocales]))
    text.append(
      pushes,
      series(
        counts,
        [
          "accepted": .pushesAccepted, "rejected": .pushesRejected, "expired": .pushesExpired,
          "cancelled": .pushesCancelled, "suppressed": .pushesSuppressed,
        ]))
    text.append(
      rejections,
      RejectionReason.allCases.map {
        ([$0.name], Double(counts.rejections[Int($0.rawValue)]))
      })
    text.append(
      suppressions,
      SuppressionRule.allCases.map {
        ([$0.name], Double(counts[WorkerCounters.counter(of: $0)]))
      })
    text.append(retries, Double(counts[.retries]))
    text.append(
      credentials,
      series(counts, ["replaced": .credentialsReplaced, "refused": .credentialsRefused]))
    text.append(unfitCredentials, Double(figures.unfitCredentials))
    text.append(expiry, Double(figures.credentialsExpireAt ?? 0))
    text.append(answers, answerSeries(figures.answerCounts))
    text.append(answerTimes, histograms: [([], figures.answerTimes)])
    text.append(
      unknownAnswers,
      figures.unknownAnswers.counts.map { ([String($0.status), $0.reason], Double($1)) }
        .sorted { $0.0.lexicographicallyPrecedes($1.0) })
    text.append(stragglers, Double(counts[.stragglers]))
    text.append(
      tokens,
      series(
        counts,
        [
          "pruned": .tokensPruned, "kept": .tokensPruneRefused,
          "kept_undated": .tokensPruneUndated, "prune_withheld": .tokensPruneWithheld,
          "set_aside": .tokensQuarantined, "quarantine_withheld": .tokensQuarantineWithheld,
        ]))
    text.append(tokenNews, Double(counts[.tokenNews]))
  }

  private static func appendKafka(_ figures: WorkerFigures, to text: inout PrometheusText) {
    let counts = figures.counts
    text.append(
      commits, series(counts, ["ok": .kafkaCommits, "failed": .kafkaCommitFailures]))
    text.append(
      rebalances,
      series(
        counts,
        ["assigned": .kafkaAssignments, "revoked": .kafkaRevocations, "lost": .kafkaLosses]))
    text.append(
      lag,
      figures.lag.sorted { $0.key < $1.key }.map {
        ([$0.key.topic, String($0.key.partition)], Double($0.value))
      })
    text.append(
      skippedRecords,
      figures.skipped.sorted { $0.key < $1.key }.map { ([$0.key], Double($0.value)) })
    text.append(lastPoll, Double(figures.lastPoll) / 1000)
    text.append(partitions, Double(figures.partitions))
    text.append(clockAhead, Double(figures.clockAhead) / 1000)
  }

  private static func appendWhatIsThere(
    _ figures: WorkerFigures, isStopping: Bool, to text: inout PrometheusText
  ) {
    text.append(records, Double(figures.records))
    text.append(aside, Double(figures.aside))
    text.append(claims, Double(figures.claims))
    text.append(claimsLost, Double(figures.counts[.claimsLost]))
    text.append(claimsTakenOver, Double(figures.counts[.claimsTakenOver]))
    text.append(places, Double(figures.places))
    text.append(lingering, Double(figures.lingering))
    text.append(ready, Double(figures.ready))
    text.append(streams, Double(figures.streams))
    text.append(streamLimit, Double(figures.streamLimit))
    text.append(connections, Double(figures.connections))
    text.append(opened, Double(figures.connectionCounts.opened))
    text.append(
      closed,
      ConnectionCounts.End.allCases.map {
        ([$0.rawValue], Double(figures.connectionCounts[$0]))
      })
    let health = figures.health(isStopping: isStopping)
    text.append(isReady, health.allSatisfy { $0.trouble == nil } ? 1 : 0)
    text.append(obstacles, obstacleSeries(figures))
    ProcessMetrics.append(figures.usage, startTime: figures.startTime, figures.log, to: &text)
    text.append(budget, Double(figures.memoryBudget))
  }

  /// Each of them is there from the start, at 0.
  private static func obstacleSeries(
    _ figures: WorkerFigures
  ) -> [(labels: [String], value: Double)] {
    let dependencies = DependencyWait.Cause.allCases.map { cause in
      let waits = figures.waitsFor.count { $0.cause == cause }
      let troubles = cause == .redis ? figures.redisTroubles.count : 0
      return (["dependency", cause.rawValue, ""], Double(waits + troubles))
    }
    let routes = Destination.all.flatMap { destination in
      RouteObstacle.Kind.allCases.map { kind in
        let group = RouteObstacle.Group(kind: kind, destination: destination)
        return (
          ["route", kind.rawValue, destination.name], Double(figures.obstacleCounts[group] ?? 0)
        )
      }
    }
    return dependencies + routes + [
      (["limit", "pushes_per_second", ""], Double(figures.limits.count))
    ]
  }

  static func answerSeries(
    _ counts: AnswerCounts
  ) -> [(labels: [String], value: Double)] {
    let refused = counts.refused.map { refusal, count in
      let status = (refusal.isOfGateway ? "binary-" : "") + String(refusal.status)
      return ([status, refusal.reason?.name ?? ""], Double(count))
    }
    return [(["200", ""], Double(counts.accepted))]
      + refused.sorted { $0.0.lexicographicallyPrecedes($1.0) }
  }

  private static func series(
    _ counts: WorkerSnapshot, _ counters: KeyValuePairs<String, WorkerCounter>
  ) -> [(labels: [String], value: Double)] {
    counters.map { ([$0], Double(counts[$1])) }
  }
}
