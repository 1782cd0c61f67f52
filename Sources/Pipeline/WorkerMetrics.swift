import Deliver
import Ingest
import Keyspace
import Model
import Telemetry

/// The families of a worker's metrics in Prometheus. `text` writes their series, all of them from
/// the start: a series that begins with its first event hides that event. Apple's refusals alone
/// cannot be known before.
package enum WorkerMetrics {
  static let build = MetricFamily(
    "fanfare_build_info", .gauge, "Always 1; the labels are the versions.",
    labels: ["version", "librdkafka", "nghttp2", "openssl", "hiredis"])
  static let events = MetricFamily(
    "fanfare_events_total", .counter, "Events read from Kafka, by result.",
    labels: ["result"])
  static let eventAges = MetricFamily(
    "fanfare_event_age_seconds", .histogram,
    "The age of events when their fan-outs began; with send_at the time since then.")
  static let fanOuts = MetricFamily(
    "fanfare_fanouts_active", .gauge, "Fan-outs of which the worker has segments.")
  static let fanOutTimes = MetricFamily(
    "fanfare_fanout_duration_seconds", .histogram,
    "The time from the opening of a fan-out to its last outcome, counted by the worker that saw "
      + "its end. Only fan-outs with pushes count.")
  static let firstPushTimes = MetricFamily(
    "fanfare_fanout_first_push_seconds", .histogram,
    "The time from the opening of a fan-out to its first push, for the same fan-outs.")
  static let deadLetters = MetricFamily(
    "fanfare_dlq_messages_total", .counter,
    "Records of all topics that went to the dead letters, by error code.",
    labels: ["error_code"])
  static let segments = MetricFamily(
    "fanfare_segments_total", .counter,
    "Segments that this worker settled, or that another worker had already settled.",
    labels: ["result"])
  static let unread = MetricFamily(
    "fanfare_segments_unread_total", .counter,
    "Settled segments whose followers were not all read before the event expired.")
  static let recipients = MetricFamily(
    "fanfare_recipients_total", .counter,
    "Followers in settled segments, including muted ones and those without a device.")
  static let pending = MetricFamily(
    "fanfare_recipients_pending", .gauge,
    "An estimate of the followers in uncommitted segments of the worker's partitions, at "
      + "\(Keyspace.targetShardFollowers) for each segment. Stragglers and events of one shard are "
      + "not included. It is as old as the lag.")
  static let skipped = MetricFamily(
    "fanfare_recipients_skipped_total", .counter,
    "Followers or devices in settled segments to which nothing could be sent.")
  static let unknownValues = MetricFamily(
    "fanfare_recipients_unknown_total", .counter,
    "Followers in settled segments whose profile has an unknown time zone or locale, by field. "
      + "Their quiet hours use rules.default_time_zone, and their texts the template's "
      + "default_locale.", labels: ["field"])
  static let pushes = MetricFamily(
    "fanfare_pushes_total", .counter, "Pushes of settled segments, by their final outcome.",
    labels: ["outcome"])
  static let rejections = MetricFamily(
    "fanfare_pushes_rejected_total", .counter,
    "Rejected pushes, by the platform's reason, or ours, which has no platform.",
    labels: ["platform", "reason"])
  static let suppressions = MetricFamily(
    "fanfare_pushes_suppressed_total", .counter,
    "Pushes that a rule suppressed, by rule.", labels: ["rule"])
  static let retries = MetricFamily(
    "fanfare_push_retries_total", .counter,
    "Pushes of settled segments that were tried again.")
  static let credentials = MetricFamily(
    "fanfare_credentials_changes_total", .counter,
    "Changes of the files with credentials for platforms: used, or refused as unusable.",
    labels: ["result"])
  static let unfitCredentials = MetricFamily(
    "fanfare_credentials_unfit_files", .gauge,
    "Files with credentials for platforms that are unusable as they are on disk now. The worker "
      + "keeps using the previous ones, and its next start fails.")
  static let expiry = MetricFamily(
    "fanfare_credentials_expiry_timestamp_seconds", .gauge,
    "When the first certificate for Apple expires, in seconds since 1970; 0 if there are only "
      + "keys, which do not expire.")
  static let answers = MetricFamily(
    "fanfare_push_requests_total", .counter,
    "Pushes that the platform answered, by status and reason. The reason is empty if there "
      + "was none, and `Other` if the platform does not document it. Each environment and lane "
      + "counts 64 different refusals by status and reason, and the rest with status 0. "
      + "Statuses of the binary interface are like `binary-8`, and 200 is its silence.",
    labels: ["platform", "status", "reason"])
  static let answerTimes = MetricFamily(
    "fanfare_push_request_duration_seconds", .histogram,
    "The time from sending a push to the platform's answer, whatever the answer is.",
    labels: ["platform"])
  static let unknownAnswers = MetricFamily(
    "fanfare_push_unknown_answers_total", .counter,
    "Reasons that the platform does not document, and statuses without a reason. Each "
      + "environment and lane counts 16 of them by name, and the rest as others.",
    labels: ["platform", "status", "reason"])
  static let stragglers = MetricFamily(
    "fanfare_stragglers_total", .counter,
    "Pushes written to the stragglers' topic because they had to wait.")
  static let tokens = MetricFamily(
    "fanfare_tokens_total", .counter,
    "Device tokens that platforms reported as gone or unusable, by what happened to their "
      + "bindings. They were removed; kept, because the binding is later or has no time; set "
      + "aside; or neither removed nor set aside (withheld), because platforms reported too many.",
    labels: ["result"])
  static let tokenNews = MetricFamily(
    "fanfare_token_news_total", .counter,
    "Records with news of device tokens, written for other systems.")
  static let tapSamples = MetricFamily(
    "fanfare_tap_samples_total", .counter,
    "Outcomes for `fanfare tap`: written to Redis, or dropped because Redis was slow or away.",
    labels: ["result"])
  static let outcomes = MetricFamily(
    "fanfare_outcomes_total", .counter,
    "Records with outcomes of fan-outs and pushes, by what became of them: published, or given up "
      + "(lost) because they could not be published before their event expired.",
    labels: ["result"])
  static let spans = MetricFamily(
    "fanfare_spans_total", .counter,
    "Spans of traces: taken by the collector (exported), or dropped because the queue was full or "
      + "the collector did not take them.", labels: ["result"])
  static let redisTimes = MetricFamily(
    "fanfare_redis_command_duration_seconds", .histogram,
    "The time from sending a batch of commands to Redis to the last of its answers.")
  static let redisFailures = MetricFamily(
    "fanfare_redis_failures_total", .counter,
    "Batches of commands that Redis did not answer, answered too late, or refused for lack of "
      + "memory, disk or permissions.")
  static let redisReconnects = MetricFamily(
    "fanfare_redis_reconnects_total", .counter,
    "Open connections to Redis' masters that broke or were given up. Each is replaced."
  )
  static let replicaReads = MetricFamily(
    "fanfare_redis_replica_reads_total", .counter,
    "Batches of reads of bindings and profiles, with redis.read_from_replicas, by who answered: a "
      + "replica, or the master because no replica was fresh or the chosen one failed.",
    labels: ["from"])
  static let replicaLag = MetricFamily(
    "fanfare_redis_replica_lag_seconds", .gauge,
    "The most that the worst replica can be behind its master, whether or not it is read from; 0 "
      + "while no replica is known.")
  static let commits = MetricFamily(
    "fanfare_kafka_commits_total", .counter, "Commits of offsets.", labels: ["result"])
  static let rebalances = MetricFamily(
    "fanfare_kafka_rebalances_total", .counter,
    "Changes of this worker's partitions: the group assigned some, revoked some in an orderly way, "
      + "or had already given them to others when the worker noticed (lost).", labels: ["kind"])
  static let lag = MetricFamily(
    "fanfare_kafka_lag_events", .gauge,
    "Records of the worker's partitions that are not committed yet, according to Kafka at the last "
      + "heartbeat.",
    labels: ["topic", "partition"])
  static let skippedRecords = MetricFamily(
    "fanfare_kafka_records_skipped_total", .counter,
    "Records that Kafka deleted before a worker had read them, because of retention or because "
      + "somebody deleted them. Control records of transactions are included.", labels: ["topic"])
  static let clockAhead = MetricFamily(
    "fanfare_clock_ahead_seconds", .gauge,
    "How far the worker's clock was ahead of Redis' clock at the last heartbeat; negative if it "
      + "was behind.")
  static let lastPoll = MetricFamily(
    "fanfare_kafka_last_poll_timestamp_seconds", .gauge,
    "When Kafka was last polled, in seconds since 1970, to a tenth of a second. While a thread "
      + "hangs, no scrape ends.")
  static let partitions = MetricFamily(
    "fanfare_kafka_partitions", .gauge, "Partitions that the group has given to this worker.")
  static let records = MetricFamily("fanfare_records_in_flight", .gauge, "Records in progress.")
  static let retryRecords = MetricFamily(
    "fanfare_records_aside", .gauge,
    "Records that wait for a retry, because another worker has their segment or their template is "
      + "not loaded.")
  static let claims = MetricFamily(
    "fanfare_claims_held", .gauge, "Segments that the worker has claimed and not settled yet.")
  static let claimsLost = MetricFamily(
    "fanfare_claims_lost_total", .counter,
    "Claims whose segment another worker took over or settled first, because this worker was too "
      + "slow.")
  static let claimsTakenOver = MetricFamily(
    "fanfare_claims_taken_over_total", .counter,
    "Segments that this worker took over, because their owner died or hung and its claim ended.")
  static let slots = MetricFamily(
    "fanfare_places_used", .gauge, "Slots of lanes that segments use.")
  static let awaitingAnswers = MetricFamily(
    "fanfare_segments_lingering", .gauge,
    "Segments that have released their slot and await their last answers.")
  static let ready = MetricFamily("fanfare_pushes_ready", .gauge, "Pushes that wait for a stream.")
  static let streams = MetricFamily(
    "fanfare_push_streams_in_flight", .gauge, "Pushes sent and not answered.",
    labels: ["platform"])
  static let streamLimit = MetricFamily(
    "fanfare_push_streams_limit", .gauge,
    "How many pushes may be in flight on the open connections, by the server's settings and "
      + "Fanfare's. Probe connections, and connections that only await their last answers, are "
      + "not included.",
    labels: ["platform"])
  static let connections = MetricFamily(
    "fanfare_push_connections", .gauge, "Open connections.", labels: ["platform"])
  static let opened = MetricFamily(
    "fanfare_push_connections_opened_total", .counter,
    "Connections that became ready for pushes.",
    labels: ["platform"])
  static let closed = MetricFamily(
    "fanfare_push_connections_closed_total", .counter,
    "Connections that ended or take no more pushes, by cause: the server's GOAWAY, retired "
      + "by Fanfare, closed by the server while idle, lost, or never connected.",
    labels: ["platform", "cause"])
  static let serversOnTrial = MetricFamily(
    "fanfare_push_servers_on_trial", .gauge,
    "Push services of browsers that are tried and that no connection has been open to. Each lane "
      + "tries \(UnopenedServers.most) at most.",
    labels: ["platform"])
  static let turnedAway = MetricFamily(
    "fanfare_pushes_turned_away_total", .counter,
    "Pushes that wait as stragglers because their push service may not be tried now: it was never "
      + "reached, or a lane has as many push services as it may.",
    labels: ["platform"])
  static let isReady = MetricFamily(
    "fanfare_ready", .gauge, "1 while `/readyz` says that the worker is ready, otherwise 0.")
  static let obstacles = MetricFamily(
    "fanfare_obstacles", .gauge,
    "Obstacles, by kind: a dependency that the worker waits for, a route to a platform that is "
      + "held, or a limit of pushes a second that is reached. The heartbeat describes them.",
    labels: ["kind", "cause", "environment"])
  static let budget = MetricFamily(
    "fanfare_memory_budget_bytes", .gauge,
    "The largest resident memory that this configuration allows.")

  /// In the order of the text.
  package static let all =
    [
      build, events, eventAges, fanOuts, fanOutTimes, firstPushTimes, deadLetters, segments,
      unread, recipients, pending, skipped, unknownValues, pushes, rejections, suppressions,
      retries,
      credentials, unfitCredentials, expiry, answers, answerTimes, unknownAnswers, stragglers,
      tokens, tokenNews, tapSamples, outcomes, spans, redisTimes, redisFailures, redisReconnects,
      replicaReads, replicaLag,
      commits, rebalances, lag, skippedRecords, lastPoll, partitions, clockAhead, records,
      retryRecords, claims, claimsLost, claimsTakenOver, slots, awaitingAnswers, ready, streams,
      streamLimit, connections, opened, closed, serversOnTrial, turnedAway, isReady, obstacles,
    ] + ReloadMetrics.all + ProcessMetrics.all + [budget]
}

extension WorkerMetrics {
  /// A worker's metrics in Prometheus' text.
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
          "scheduled": .eventsScheduled,
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
    text.append(unread, Double(counts[.segmentsUnread]))
  }

  private static func appendPushes(_ figures: WorkerFigures, to text: inout PrometheusText) {
    let counts = figures.counts
    text.append(recipients, Double(counts[.recipients]))
    text.append(pending, figures.pendingRecipients)
    text.append(skipped, Double(counts[.skipped]))
    text.append(unknownValues, series(counts, ["tz": .unknownZones, "locale": .unknownLocales]))
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
      RejectionReason.all.map {
        ([$0.platform ?? "", $0.name], Double(counts.rejections[Int($0.index)]))
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
    let platforms = figures.platforms.sorted { $0.key < $1.key }
    text.append(answers, byPlatform(platforms) { answerSeries($0.answerCounts) })
    text.append(answerTimes, histograms: platforms.map { ([$0], $1.answerTimes) })
    text.append(
      unknownAnswers,
      byPlatform(platforms) {
        $0.unknownAnswers.counts.map { ([String($0.status), $0.reason], Double($1)) }
          .sorted { $0.0.lexicographicallyPrecedes($1.0) }
      })
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
    text.append(
      tapSamples, series(counts, ["written": .tapSamples, "dropped": .tapSamplesDropped]))
    text.append(outcomes, series(counts, ["published": .outcomes, "lost": .outcomesLost]))
    text.append(spans, series(counts, ["exported": .spansExported, "dropped": .spansDropped]))
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
    text.append(retryRecords, Double(figures.retries))
    text.append(claims, Double(figures.claims))
    text.append(claimsLost, Double(figures.counts[.claimsLost]))
    text.append(claimsTakenOver, Double(figures.counts[.claimsTakenOver]))
    text.append(slots, Double(figures.slots))
    text.append(awaitingAnswers, Double(figures.awaitingAnswers))
    text.append(ready, Double(figures.ready))
    let platforms = figures.platforms.sorted { $0.key < $1.key }
    text.append(streams, byPlatform(platforms) { [([], Double($0.inFlight))] })
    text.append(streamLimit, byPlatform(platforms) { [([], Double($0.streamLimit))] })
    text.append(connections, byPlatform(platforms) { [([], Double($0.openConnections))] })
    text.append(opened, byPlatform(platforms) { [([], Double($0.connectionCounts.opened))] })
    text.append(
      closed,
      byPlatform(platforms) { platform in
        ConnectionCounts.End.allCases.map {
          ([$0.rawValue], Double(platform.connectionCounts[$0]))
        }
      })
    text.append(serversOnTrial, byPlatform(platforms) { [([], Double($0.serversOnTrial))] })
    text.append(turnedAway, byPlatform(platforms) { [([], Double($0.turnedAway))] })
    let health = figures.health(isStopping: isStopping)
    text.append(isReady, health.allSatisfy { $0.trouble == nil } ? 1 : 0)
    text.append(obstacles, obstacleSeries(figures))
    ReloadMetrics.append(templates: figures.templateReloads, to: &text)
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

  /// The series of each platform, with its name before their labels.
  private static func byPlatform(
    _ platforms: [(key: String, value: PlatformFigures)],
    _ series: (PlatformFigures) -> [(labels: [String], value: Double)]
  ) -> [(labels: [String], value: Double)] {
    platforms.flatMap { name, figures in
      series(figures).map { ([name] + $0.labels, $0.value) }
    }
  }

  static func answerSeries(_ counts: AnswerCounts) -> [(labels: [String], value: Double)] {
    let refused = counts.refused.map { refusal, count in
      let status = (refusal.interface.map { $0 + "-" } ?? "") + String(refusal.status)
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
