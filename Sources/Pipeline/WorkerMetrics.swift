import Deliver
import Ingest
import Kafka
import Model
import Telemetry

/// What a worker measures, as Prometheus reads it. Every family is here, with all its series from
/// the start: a series that begins with its first event hides that event.
package enum WorkerMetrics {
  static let build = MetricFamily(
    "fanfare_build_info", .gauge, "Always 1; the version is in the label.", labels: ["version"])
  static let events = MetricFamily(
    "fanfare_events_total", .counter, "Events read from Kafka, by what became of them.",
    labels: ["result"])
  static let eventAges = MetricFamily(
    "fanfare_event_age_seconds", .histogram,
    "How long ago events had occurred when their fan-outs began.")
  static let deadLetters = MetricFamily(
    "fanfare_dlq_messages_total", .counter,
    "Records of all topics that went to the dead letters, by the code of the reason.",
    labels: ["error_code"])
  static let segments = MetricFamily(
    "fanfare_segments_total", .counter,
    "Segments that this worker came to the end of: settled, or found settled by another.",
    labels: ["result"])
  static let recipients = MetricFamily(
    "fanfare_recipients_total", .counter,
    "Followers found, muted ones and those without a device among them, of settled segments.")
  static let skipped = MetricFamily(
    "fanfare_recipients_skipped_total", .counter,
    "Followers, or devices, that nothing could be sent to, of settled segments.")
  static let pushes = MetricFamily(
    "fanfare_pushes_total", .counter, "Pushes of settled segments, by their final outcome.",
    labels: ["outcome"])
  static let rejections = MetricFamily(
    "fanfare_pushes_rejected_total", .counter, "Rejected pushes, by Apple's reason or ours.",
    labels: ["reason"])
  static let suppressions = MetricFamily(
    "fanfare_pushes_suppressed_total", .counter,
    "Pushes that were not sent because a rule said so, by the rule.", labels: ["rule"])
  static let retries = MetricFamily(
    "fanfare_apns_retries_total", .counter, "Pushes that were tried again, of settled segments.")
  static let credentials = MetricFamily(
    "fanfare_credentials_changes_total", .counter,
    "Changes of the files that prove to Apple who we are: used, or refused as unfit.",
    labels: ["result"])
  static let expiry = MetricFamily(
    "fanfare_credentials_expiry_timestamp_seconds", .gauge,
    "When the certificate for Apple that ends first does, in seconds since 1970; 0 with keys "
      + "alone, which do not end.")
  static let answerTimes = MetricFamily(
    "fanfare_apns_request_duration_seconds", .histogram,
    "From sending a push to Apple's answer, whatever it said.")
  static let unknownAnswers = MetricFamily(
    "fanfare_apns_unknown_answers_total", .counter,
    "Reasons that Apple does not document, and statuses without one: 16 of an environment and "
      + "lane, the rest as others.", labels: ["status", "reason"])
  static let stragglers = MetricFamily(
    "fanfare_stragglers_total", .counter,
    "Pushes written to the stragglers' topic because they had to wait.")
  static let tokens = MetricFamily(
    "fanfare_tokens_total", .counter,
    "Device tokens that Apple called unusable, by what became of their bindings.",
    labels: ["result"])
  static let tokenNews = MetricFamily(
    "fanfare_token_news_total", .counter,
    "Records that told others what became of device tokens.")
  static let redisTimes = MetricFamily(
    "fanfare_redis_command_duration_seconds", .histogram,
    "From handing commands to Redis, many at a time, to the last of their answers.")
  static let redisFailures = MetricFamily(
    "fanfare_redis_failures_total", .counter,
    "Commands, many at a time, that Redis did not answer in time, or not at all.")
  static let replicaReads = MetricFamily(
    "fanfare_redis_replica_reads_total", .counter,
    "Reads of bindings and profiles, many at a time, with redis.read_from_replicas, by who "
      + "answered: a replica, or the master because none was fresh or the one asked failed.",
    labels: ["from"])
  static let replicaLag = MetricFamily(
    "fanfare_redis_replica_lag_seconds", .gauge,
    "How far behind its master the worst replica is at most, read from or not; 0 while none is "
      + "known.")
  static let commits = MetricFamily(
    "fanfare_kafka_commits_total", .counter, "Commits of offsets.", labels: ["result"])
  static let rebalances = MetricFamily(
    "fanfare_kafka_rebalances_total", .counter,
    "Changes of the partitions: the group gave some, took some in good order, or others have had "
      + "them already when this worker heard of it.", labels: ["kind"])
  static let lag = MetricFamily(
    "fanfare_kafka_lag_events", .gauge,
    "Records of the worker's partitions that are not committed yet, as Kafka said last.",
    labels: ["topic", "partition"])
  static let partitions = MetricFamily(
    "fanfare_kafka_partitions", .gauge, "Partitions that the group has given to this worker.")
  static let records = MetricFamily(
    "fanfare_records_in_flight", .gauge, "Records that are worked on.")
  static let aside = MetricFamily(
    "fanfare_records_aside", .gauge, "Records that wait because another worker has their segment.")
  static let claims = MetricFamily(
    "fanfare_claims_held", .gauge, "Segments that the worker has claimed and not settled yet.")
  static let claimsLost = MetricFamily(
    "fanfare_claims_lost_total", .counter,
    "Claims that another worker took, or settled, before this one had: it was too slow.")
  static let places = MetricFamily(
    "fanfare_places_used", .gauge, "Places of lanes that segments have.")
  static let lingering = MetricFamily(
    "fanfare_segments_lingering", .gauge,
    "Segments without a place, whose last pushes wait for their outcome.")
  static let ready = MetricFamily(
    "fanfare_pushes_ready", .gauge, "Pushes that wait for a stream.")
  static let streams = MetricFamily(
    "fanfare_apns_streams_in_flight", .gauge, "Pushes sent to Apple and not answered.")
  static let connections = MetricFamily(
    "fanfare_apns_connections", .gauge, "Open connections to Apple.")
  static let opened = MetricFamily(
    "fanfare_apns_connections_opened_total", .counter,
    "Connections to Apple that were ready for pushes.")
  static let closed = MetricFamily(
    "fanfare_apns_connections_closed_total", .counter,
    "Connections to Apple that ended, or take no more pushes: by Apple's GOAWAY, retired by us, "
      + "closed by Apple while idle, lost, or never connected.", labels: ["cause"])
  static let isReady = MetricFamily(
    "fanfare_ready", .gauge, "1 while `/readyz` says that the worker is ready, or else 0.")
  static let obstacles = MetricFamily(
    "fanfare_obstacles", .gauge,
    "What is in the way: dependencies waited for, routes and credentials held, limits reached; "
      + "the heartbeat names them.", labels: ["kind"])
  static let cpu = MetricFamily(
    "process_cpu_seconds_total", .counter, "CPU of all threads, in user mode and in the kernel.")
  static let resident = MetricFamily(
    "process_resident_memory_bytes", .gauge, "Memory that is resident.")
  static let budget = MetricFamily(
    "fanfare_memory_budget_bytes", .gauge, "The most that this configuration can make resident.")

  /// In the order of the text.
  package static let all = [
    build, events, eventAges, deadLetters, segments, recipients, skipped, pushes, rejections,
    suppressions, retries, credentials, expiry, answerTimes, unknownAnswers,
    stragglers, tokens, tokenNews, redisTimes, redisFailures, replicaReads, replicaLag, commits,
    rebalances, lag, partitions, records, aside,
    claims, claimsLost, places, lingering, ready, streams, connections, opened, closed, isReady,
    obstacles, cpu, resident,
    budget,
  ]

  static func text(_ figures: WorkerFigures, isStopping: Bool = false) -> PrometheusText {
    var text = PrometheusText()
    text.append(build, [([figures.version], 1)])
    appendEvents(figures, to: &text)
    appendPushes(figures, to: &text)
    text.append(redisTimes, histograms: [([], figures.redisTimes)])
    text.append(redisFailures, Double(figures.redisFailures))
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
    text.append(skipped, Double(counts[.skipped]))
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
    text.append(expiry, Double(figures.credentialsExpireAt ?? 0))
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
        ["pruned": .tokensPruned, "kept": .tokensPruneRefused, "set_aside": .tokensQuarantined]))
    text.append(tokenNews, Double(counts[.tokenNews]))
  }

  private static func appendKafka(_ figures: WorkerFigures, to text: inout PrometheusText) {
    let counts = figures.counts
    text.append(commits, series(counts, ["ok": .kafkaCommits, "failed": .kafkaCommitFailures]))
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
    text.append(partitions, Double(figures.partitions))
  }

  private static func appendWhatIsThere(
    _ figures: WorkerFigures, isStopping: Bool, to text: inout PrometheusText
  ) {
    text.append(records, Double(figures.records))
    text.append(aside, Double(figures.aside))
    text.append(claims, Double(figures.claims))
    text.append(claimsLost, Double(figures.counts[.claimsLost]))
    text.append(places, Double(figures.places))
    text.append(lingering, Double(figures.lingering))
    text.append(ready, Double(figures.ready))
    text.append(streams, Double(figures.streams))
    text.append(connections, Double(figures.connections))
    text.append(opened, Double(figures.connectionCounts.opened))
    text.append(
      closed,
      ConnectionCounts.End.allCases.map {
        ([$0.rawValue], Double(figures.connectionCounts[$0]))
      })
    let health = figures.health(isStopping: isStopping)
    text.append(isReady, health.allSatisfy { $0.trouble == nil } ? 1 : 0)
    text.append(
      obstacles,
      [
        (["dependency"], Double(figures.waitsFor.count + figures.redisTroubles.count)),
        (["route"], Double(figures.obstacles.count)),
        (["limit"], Double(figures.limits.count)),
      ])
    text.append(cpu, Double(figures.usage.cpuNanoseconds) / 1_000_000_000)
    text.append(resident, Double(figures.usage.residentBytes))
    text.append(budget, Double(figures.memoryBudget))
  }

  private static func series(
    _ counts: WorkerSnapshot, _ counters: KeyValuePairs<String, WorkerCounter>
  ) -> [(labels: [String], value: Double)] {
    counters.map { ([$0], Double(counts[$1])) }
  }
}
