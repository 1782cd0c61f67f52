import Checkout
import Expand
import Foundation
import Ingest
import Kafka
import Model
import Telemetry
import Testing

@testable import Deliver
@testable import Pipeline
@testable import Redis

@Suite struct WorkerMetricsTests {
  private func figures(
    _ counters: WorkerCounters = WorkerCounters(), segmentTopics: Set<String> = [],
    lag: Int64 = 12
  ) -> WorkerFigures {
    WorkerFigures(
      version: "1.2.3", libraries: ["nghttp2": "1.52", "libyaml": "0.2"], lanes: 2,
      memoryBudget: 1000, counts: counters.snapshot(),
      usage: ProcessUsage(
        cpuNanoseconds: 1_500_000_000, residentBytes: 10, peakResidentBytes: 20),
      startTime: 1_763_000_000.5, partitions: 6, records: 5, retries: 4,
      lag: [KafkaPartition(topic: "t", partition: 3): lag], segmentTopics: segmentTopics,
      skipped: ["notify-followers.segments": 5],
      lastPoll: 1_764_000_000_250, log: LogStatistics(written: [.warning: 3], dropped: 9),
      unfitCredentials: 2,
      waitsFor: [DependencyWait(cause: .kafka, text: "no broker")])
  }

  /// A worker starts while Apple is away, and while something waits.
  @Test func itStartsWithoutApple() {
    let parts = figures().health(isStopping: false)
    #expect(parts.count == 6)
    #expect(parts.filter(\.isVital).map(\.name) == ["running", "partitions", "redis"])
  }

  private func lines(_ figures: WorkerFigures) -> [Substring] {
    WorkerMetrics.text(figures).text.split(separator: "\n")
  }

  @Test func everyFamilyIsThereFromTheStart() {
    let lines = lines(figures())
    for family in WorkerMetrics.all {
      #expect(lines.contains { $0 == "# HELP \(family.name) \(family.help)" })
      let series = family.kind == .histogram ? family.name + "_count" : family.name
      #expect(lines.contains { $0.hasPrefix("\(series){") || $0.hasPrefix("\(series) ") })
    }
    #expect(lines.count { $0.hasPrefix("# TYPE") } == WorkerMetrics.all.count)
    for reason in RejectionReason.all {
      let labels = "platform=\"\(reason.platform ?? "")\",reason=\"\(reason.name)\""
      #expect(lines.contains("fanfare_pushes_rejected_total{\(labels)} 0"))
    }
  }

  /// Each counter has a number of its own, so that none stands in the place of another.
  @Test func everyCounterIsShown() {
    let counters = WorkerCounters()
    for counter in WorkerCounter.allCases { counters.add(counter, 1000 + counter.rawValue) }
    counters.addRejected(reason: RejectionReason.unregistered.index, 7)
    counters.addDeadLetter(code: 1)
    let lines = lines(figures(counters))
    let shown: [(String, WorkerCounter)] = [
      ("fanfare_events_total{result=\"ok\"}", .eventsOK),
      ("fanfare_events_total{result=\"malformed\"}", .eventsMalformed),
      ("fanfare_events_total{result=\"dead_lettered\"}", .eventsDeadLettered),
      ("fanfare_events_total{result=\"expired\"}", .eventsExpired),
      ("fanfare_events_total{result=\"duplicate\"}", .eventsDuplicate),
      ("fanfare_events_total{result=\"resumed\"}", .eventsResumed),
      ("fanfare_events_total{result=\"stopped\"}", .eventsStopped),
      ("fanfare_events_total{result=\"scheduled\"}", .eventsScheduled),
      ("fanfare_events_total{result=\"no_audience\"}", .eventsWithoutAudience),
      ("fanfare_events_total{result=\"stream_ended\"}", .streamsEnded),
      ("fanfare_segments_total{result=\"settled\"}", .segmentsSettled),
      ("fanfare_segments_total{result=\"already_settled\"}", .segmentsAlreadySettled),
      ("fanfare_claims_lost_total", .claimsLost),
      ("fanfare_claims_taken_over_total", .claimsTakenOver),
      ("fanfare_segments_unread_total", .segmentsUnread),
      ("fanfare_recipients_total", .recipients), ("fanfare_recipients_skipped_total", .skipped),
      ("fanfare_recipients_unknown_total{field=\"tz\"}", .unknownZones),
      ("fanfare_recipients_unknown_total{field=\"locale\"}", .unknownLocales),
      ("fanfare_stragglers_total", .stragglers),
      ("fanfare_pushes_total{outcome=\"accepted\"}", .pushesAccepted),
      ("fanfare_pushes_total{outcome=\"expired\"}", .pushesExpired),
      ("fanfare_pushes_total{outcome=\"cancelled\"}", .pushesCancelled),
      ("fanfare_pushes_total{outcome=\"suppressed\"}", .pushesSuppressed),
      ("fanfare_pushes_suppressed_total{rule=\"muted\"}", .suppressedMuted),
      ("fanfare_pushes_suppressed_total{rule=\"quiet\"}", .suppressedQuiet),
      ("fanfare_pushes_suppressed_total{rule=\"cap\"}", .suppressedCap),
      ("fanfare_pushes_suppressed_total{rule=\"device\"}", .suppressedDevice),
      ("fanfare_push_retries_total", .retries),
      ("fanfare_credentials_changes_total{result=\"replaced\"}", .credentialsReplaced),
      ("fanfare_credentials_changes_total{result=\"refused\"}", .credentialsRefused),
      ("fanfare_tokens_total{result=\"pruned\"}", .tokensPruned),
      ("fanfare_tokens_total{result=\"kept\"}", .tokensPruneRefused),
      ("fanfare_tokens_total{result=\"kept_undated\"}", .tokensPruneUndated),
      ("fanfare_tokens_total{result=\"prune_withheld\"}", .tokensPruneWithheld),
      ("fanfare_tokens_total{result=\"set_aside\"}", .tokensQuarantined),
      ("fanfare_tokens_total{result=\"quarantine_withheld\"}", .tokensQuarantineWithheld),
      ("fanfare_token_news_total", .tokenNews),
      ("fanfare_tap_samples_total{result=\"written\"}", .tapSamples),
      ("fanfare_tap_samples_total{result=\"dropped\"}", .tapSamplesDropped),
      ("fanfare_outcomes_total{result=\"published\"}", .outcomes),
      ("fanfare_outcomes_total{result=\"lost\"}", .outcomesLost),
      ("fanfare_spans_total{result=\"exported\"}", .spansExported),
      ("fanfare_spans_total{result=\"dropped\"}", .spansDropped),
      ("fanfare_kafka_commits_total{result=\"ok\"}", .kafkaCommits),
      ("fanfare_kafka_commits_total{result=\"failed\"}", .kafkaCommitFailures),
      ("fanfare_kafka_rebalances_total{kind=\"assigned\"}", .kafkaAssignments),
      ("fanfare_kafka_rebalances_total{kind=\"revoked\"}", .kafkaRevocations),
      ("fanfare_kafka_rebalances_total{kind=\"lost\"}", .kafkaLosses),
    ]
    for (name, counter) in shown {
      #expect(lines.contains("\(name) \(1000 + counter.rawValue)"), "\(name)")
    }
    let rejected = 1007 + WorkerCounter.pushesRejected.rawValue
    #expect(lines.contains("fanfare_pushes_total{outcome=\"rejected\"} \(rejected)"))
    #expect(
      lines.contains("fanfare_pushes_rejected_total{platform=\"apns\",reason=\"Unregistered\"} 7"))
    #expect(lines.contains("fanfare_dlq_messages_total{error_code=\"tombstone\"} 0"))
    #expect(lines.contains("fanfare_dlq_messages_total{error_code=\"too_large\"} 1"))
    #expect(IngestError.Code.allCases.count <= WorkerCounters.maximumCodes)
    // `pushesRejected` is the one that is shown above by itself.
    #expect(Set(shown.map(\.1)).count + 1 == WorkerCounter.allCases.count)
  }

  /// Of all lanes together; the lag is that of the worst.
  @Test func replicasAreShown() {
    #expect(lines(figures()).contains("fanfare_redis_replica_lag_seconds 0"))
    let counts = RedisCounts()
    counts.replicaReads = 7
    counts.replicaFallBacks = 2
    let replicas = [1_500, 2_500].map {
      RedisReplica(master: "m", name: "r", lag: .milliseconds($0), obstacle: nil)
    }
    var figures = figures()
    figures.add(nil)
    figures.add(RedisReplicaFigures([("m", replicas)], counts))
    figures.add(RedisReplicaFigures([("m", nil)], counts))
    let lines = lines(figures)
    #expect(lines.contains("fanfare_redis_replica_lag_seconds 2.5"))
    #expect(lines.contains("fanfare_redis_replica_reads_total{from=\"replica\"} 14"))
    #expect(lines.contains("fanfare_redis_replica_reads_total{from=\"master\"} 4"))
  }

  @Test func whatALogCouldNotWriteAndWhatIsUnfitOnDiskIsShown() {
    let lines = lines(figures())
    #expect(lines.contains("fanfare_log_lines_total{level=\"warning\"} 3"))
    #expect(lines.contains("fanfare_log_lines_dropped_total 9"))
    #expect(lines.contains("fanfare_credentials_unfit_files 2"))
  }

  /// When this fails, put what it prints between the marks.
  @Test func thePageIsWhatTheFamiliesSay() throws {
    let text = try Checkout.text("docs/operations.md")
    let begin = "<!-- made from WorkerMetrics; WorkerMetricsTests prints it -->\n"
    let start = try #require(text.firstRange(of: begin)).upperBound
    let end = try #require(text[start...].firstRange(of: "\n<!-- end -->")).lowerBound
    let page =
      (["| Metric | Kind | Labels | What it says |", "|---|---|---|---|"]
      + WorkerMetrics.all.map { family in
        let labels = family.labels.map { "`\($0)`" }.joined(separator: ", ")
        return "| `\(family.name)` | \(family.kind.rawValue) | \(labels) | \(family.help) |"
      }).joined(separator: "\n")
    #expect(text[start..<end] == page, "\(page)")
  }

  @Test func aWorkerIsReadyWhenNothingIsWrong() {
    #expect(lines(figures()).contains("fanfare_ready 0"), "it waits for Kafka")
    var healthy = figures()
    healthy.waitsFor = []
    #expect(lines(healthy).contains("fanfare_ready 1"))
    let stopping = WorkerMetrics.text(healthy, isStopping: true).text
    #expect(stopping.contains("\nfanfare_ready 0\n"))
  }

  @Test func segmentsThatWaitAreReckonedInFollowers() {
    #expect(lines(figures()).contains("fanfare_recipients_pending 0"))
    let figures = figures(segmentTopics: ["s", "t"])
    #expect(lines(figures).contains("fanfare_recipients_pending \(12 * 2048)"))
    // A broker that talks nonsense ends no worker.
    let absurd = self.figures(segmentTopics: ["t"], lag: .max)
    #expect(lines(absurd).contains { $0.hasPrefix("fanfare_recipients_pending 1.8889") })
  }

  @Test func eachAnswerHasASeries() {
    var counts = AnswerCounts()
    #expect(WorkerMetrics.answerSeries(counts).map(\.labels) == [["200", ""]])
    counts.accepted += 1
    counts.refuse(.init(status: 410, reason: .unregistered))
    counts.refuse(.init(status: 502, reason: nil))
    counts.refuse(.init(status: 502, reason: nil))
    counts.refuse(.init(status: 200, reason: nil, interface: "binary"))
    let series = WorkerMetrics.answerSeries(counts)
    #expect(
      series.map(\.labels) == [
        ["200", ""], ["410", "Unregistered"], ["502", ""], ["binary-200", ""],
      ])
    #expect(series.map(\.value) == [1, 1, 2, 1])
  }

  @Test func whatIsThereNowIsShown() {
    let lines = lines(figures())
    for line in [
      #"fanfare_build_info{version="1.2.3",librdkafka="",nghttp2="1.52",openssl="",hiredis=""} 1"#,
      "fanfare_kafka_partitions 6",
      "fanfare_records_in_flight 5", "fanfare_records_aside 4",
      "fanfare_kafka_lag_events{topic=\"t\",partition=\"3\"} 12",
      "fanfare_kafka_records_skipped_total{topic=\"notify-followers.segments\"} 5",
      "fanfare_kafka_last_poll_timestamp_seconds 1764000000.25",
      "fanfare_log_lines_total{level=\"warning\"} 3", "fanfare_log_lines_total{level=\"info\"} 0",
      #"fanfare_obstacles{kind="dependency",cause="kafka",environment=""} 1"#,
      #"fanfare_obstacles{kind="dependency",cause="redis",environment=""} 0"#,
      "process_cpu_seconds_total 1.5", "process_start_time_seconds 1763000000.5",
      "process_resident_memory_bytes 10", "fanfare_memory_budget_bytes 1000",
    ] {
      #expect(lines.contains { $0 == line }, "\(line)")
    }
  }
}
