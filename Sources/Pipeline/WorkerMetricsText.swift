import Deliver
import Ingest
import Model
import Telemetry

/// The text of `WorkerMetrics`, with what a worker says of itself.
enum WorkerMetricsText {
  static func made(of figures: WorkerFigures, isStopping: Bool = false) -> PrometheusText {
    var text = PrometheusText()
    let versions = WorkerMetrics.build.labels.dropFirst().map { figures.libraries[$0] ?? "" }
    text.append(WorkerMetrics.build, [([figures.version] + versions, 1)])
    appendEvents(figures, to: &text)
    appendPushes(figures, to: &text)
    text.append(WorkerMetrics.redisTimes, histograms: [([], figures.redisTimes)])
    text.append(WorkerMetrics.redisFailures, Double(figures.redisFailures))
    text.append(WorkerMetrics.redisReconnects, Double(figures.brokenRedisConnections))
    text.append(
      WorkerMetrics.replicaReads,
      [
        (["replica"], Double(figures.replicaReads)), (["master"], Double(figures.replicaFallBacks)),
      ])
    text.append(WorkerMetrics.replicaLag, (figures.replicaLag ?? .zero) / .seconds(1))
    appendKafka(figures, to: &text)
    appendWhatIsThere(figures, isStopping: isStopping, to: &text)
    return text
  }

  private static func appendEvents(_ figures: WorkerFigures, to text: inout PrometheusText) {
    let counts = figures.counts
    text.append(
      WorkerMetrics.events,
      series(
        counts,
        [
          "ok": .eventsOK, "malformed": .eventsMalformed, "dead_lettered": .eventsDeadLettered,
          "expired": .eventsExpired,
          "duplicate": .eventsDuplicate, "resumed": .eventsResumed, "stopped": .eventsStopped,
          "no_audience": .eventsWithoutAudience, "stream_ended": .streamsEnded,
        ]))
    text.append(WorkerMetrics.eventAges, histograms: [([], figures.eventAges)])
    text.append(WorkerMetrics.fanOuts, Double(figures.fanOuts))
    text.append(WorkerMetrics.fanOutTimes, histograms: [([], figures.fanOutTimes)])
    text.append(WorkerMetrics.firstPushTimes, histograms: [([], figures.firstPushTimes)])
    text.append(
      WorkerMetrics.deadLetters,
      IngestError.Code.allCases.enumerated().map {
        ([$1.rawValue], Double(counts.deadLetters[$0]))
      })
    text.append(
      WorkerMetrics.segments,
      series(counts, ["settled": .segmentsSettled, "already_settled": .segmentsAlreadySettled]))
  }

  private static func appendPushes(_ figures: WorkerFigures, to text: inout PrometheusText) {
    let counts = figures.counts
    text.append(WorkerMetrics.recipients, Double(counts[.recipients]))
    text.append(WorkerMetrics.pending, Double(figures.pendingRecipients))
    text.append(WorkerMetrics.skipped, Double(counts[.skipped]))
    text.append(
      WorkerMetrics.pushes,
      series(
        counts,
        [
          "accepted": .pushesAccepted, "rejected": .pushesRejected, "expired": .pushesExpired,
          "cancelled": .pushesCancelled, "suppressed": .pushesSuppressed,
        ]))
    text.append(
      WorkerMetrics.rejections,
      RejectionReason.allCases.map {
        ([$0.name], Double(counts.rejections[Int($0.rawValue)]))
      })
    text.append(
      WorkerMetrics.suppressions,
      SuppressionRule.allCases.map {
        ([$0.name], Double(counts[WorkerCounters.counter(of: $0)]))
      })
    text.append(WorkerMetrics.retries, Double(counts[.retries]))
    text.append(
      WorkerMetrics.credentials,
      series(counts, ["replaced": .credentialsReplaced, "refused": .credentialsRefused]))
    text.append(WorkerMetrics.expiry, Double(figures.credentialsExpireAt ?? 0))
    text.append(WorkerMetrics.answers, answerSeries(figures.answerCounts))
    text.append(WorkerMetrics.answerTimes, histograms: [([], figures.answerTimes)])
    text.append(
      WorkerMetrics.unknownAnswers,
      figures.unknownAnswers.counts.map { ([String($0.status), $0.reason], Double($1)) }
        .sorted { $0.0.lexicographicallyPrecedes($1.0) })
    text.append(WorkerMetrics.stragglers, Double(counts[.stragglers]))
    text.append(
      WorkerMetrics.tokens,
      series(
        counts,
        ["pruned": .tokensPruned, "kept": .tokensPruneRefused, "set_aside": .tokensQuarantined]))
    text.append(WorkerMetrics.tokenNews, Double(counts[.tokenNews]))
  }

  private static func appendKafka(_ figures: WorkerFigures, to text: inout PrometheusText) {
    let counts = figures.counts
    text.append(
      WorkerMetrics.commits, series(counts, ["ok": .kafkaCommits, "failed": .kafkaCommitFailures]))
    text.append(
      WorkerMetrics.rebalances,
      series(
        counts,
        ["assigned": .kafkaAssignments, "revoked": .kafkaRevocations, "lost": .kafkaLosses]))
    text.append(
      WorkerMetrics.lag,
      figures.lag.sorted { $0.key < $1.key }.map {
        ([$0.key.topic, String($0.key.partition)], Double($0.value))
      })
    text.append(WorkerMetrics.lastPoll, Double(figures.lastPoll) / 1000)
    text.append(WorkerMetrics.partitions, Double(figures.partitions))
  }

  private static func appendWhatIsThere(
    _ figures: WorkerFigures, isStopping: Bool, to text: inout PrometheusText
  ) {
    text.append(WorkerMetrics.records, Double(figures.records))
    text.append(WorkerMetrics.aside, Double(figures.aside))
    text.append(WorkerMetrics.claims, Double(figures.claims))
    text.append(WorkerMetrics.claimsLost, Double(figures.counts[.claimsLost]))
    text.append(WorkerMetrics.claimsTakenOver, Double(figures.counts[.claimsTakenOver]))
    text.append(WorkerMetrics.places, Double(figures.places))
    text.append(WorkerMetrics.lingering, Double(figures.lingering))
    text.append(WorkerMetrics.ready, Double(figures.ready))
    text.append(WorkerMetrics.streams, Double(figures.streams))
    text.append(WorkerMetrics.streamsMost, Double(figures.streamsMost))
    text.append(WorkerMetrics.connections, Double(figures.connections))
    text.append(WorkerMetrics.opened, Double(figures.connectionCounts.opened))
    text.append(
      WorkerMetrics.closed,
      ConnectionCounts.End.allCases.map {
        ([$0.rawValue], Double(figures.connectionCounts[$0]))
      })
    let health = figures.health(isStopping: isStopping)
    text.append(WorkerMetrics.isReady, health.allSatisfy { $0.trouble == nil } ? 1 : 0)
    text.append(
      WorkerMetrics.obstacles,
      [
        (["dependency"], Double(figures.waitsFor.count + figures.redisTroubles.count)),
        (["route"], Double(figures.obstacles.count)),
        (["limit"], Double(figures.limits.count)),
      ])
    text.append(
      WorkerMetrics.logLines,
      LogLevel.allCases.map { ([$0.name], Double(figures.logLines[$0] ?? 0)) })
    text.append(WorkerMetrics.cpu, Double(figures.usage.cpuNanoseconds) / 1_000_000_000)
    text.append(WorkerMetrics.resident, Double(figures.usage.residentBytes))
    text.append(WorkerMetrics.budget, Double(figures.memoryBudget))
  }

  static func answerSeries(
    _ counts: AnswerCounts
  ) -> [(labels: [String], value: Double)] {
    let refused = counts.refused.map {
      ([String($0.status), $0.reason?.name ?? ""], Double($1))
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
