import EventLoop
import Kafka
import Keyspace
import Record
import Telemetry
import Text

/// A worker's report of itself to the dashboards.
struct Heartbeat: Sendable {
  let options: PipelineOptions
  let lanes: [Lane]
  let pump: KafkaPump
  let counters: WorkerCounters

  func figures() async -> WorkerFigures {
    await WorkerFigures.take(options, lanes, pump, counters)
  }

  func fields(_ figures: WorkerFigures) -> [(name: String, value: String)] {
    let platforms = figures.platforms.values
    return [
      ("version", figures.version), ("lanes", String(figures.lanes)),
      ("partitions", String(figures.partitions)),
      ("records_in_flight", String(figures.records)),
      ("segments_lingering", String(figures.awaitingAnswers)),
      ("records_aside", String(figures.retries)),
      ("lag", String(figures.lag.values.reduce(0, +))),
      ("lag_of_partitions", Self.joined(Self.lags(figures.lag))),
      ("ready", String(figures.ready)),
      ("streams", String(platforms.reduce(0) { $0 + $1.inFlight })),
      ("stream_limit", String(platforms.reduce(0) { $0 + $1.streamLimit })),
      ("connections", String(platforms.reduce(0) { $0 + $1.openConnections })),
      ("rss_bytes", String(figures.usage.residentBytes)),
      ("waits_for", Self.joined(figures.waitsFor.map(\.text))),
      ("held_routes", Self.joined(figures.obstacles)),
      ("limits", Self.joined(figures.limits)),
      ("credentials", Self.joined(figures.credentialAges.map { "\($0.name) \($0.since)" })),
      ("records_lost", String(figures.skipped.values.reduce(0, +))),
      ("templates_refused_ms", String(figures.templateReloads.refusedSince ?? 0)),
      ("beat_ms", String(options.wallClock())),
      ("beat_interval_ms", String(options.heartbeatInterval.wholeMilliseconds)),
    ]
  }

  /// Those that are behind, the furthest first.
  private static func lags(_ lags: [KafkaPartition: Int64]) -> [String] {
    lags.filter { $0.value > 0 }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\($0.key) \($0.value)" }
  }

  /// Empty when there is nothing: a field that were missing would keep its last value. Readers
  /// split the field at "; ", which stands within none of the texts.
  static func joined(_ texts: [String]) -> String {
    texts.prefix(8).map { String($0.replacing("; ", with: ", ").prefix(256)) }
      .joined(separator: "; ")
  }
}

/// Writes the worker's heartbeat, and says when another worker does so under the same name.
/// Confined to its lane.
final class HeartbeatWriter {
  private static let namesakeLineInterval: Duration = .seconds(60)

  private let lane: LaneContext
  private let clock: ClockWatch
  private let overdue: OverdueFanOuts
  private var hasBeaten = false
  /// The worker stops.
  private var isOver = false
  private var nextNamesakeLine: UInt64 = 0
  private let tapBudget = TapBudget()
  private var isTapped = false
  /// The point of the series that was tried last; nil: none was.
  private var lastPoint: Int64?

  init(_ lane: LaneContext, clock: ClockWatch) {
    self.lane = lane
    self.clock = clock
    overdue = OverdueFanOuts(lane)
  }

  func write(_ heartbeat: Heartbeat) async {
    for lane in heartbeat.lanes { await lane.countDeadLetters() }
    do {
      let ahead = try await clock.compare()
      let figures = await heartbeat.figures()
      let fields = heartbeat.fields(figures) + [("clock_ahead_ms", String(ahead))]
      guard !isOver else { return }
      let last = try await lane.record.heartbeat(
        worker: lane.options.workerID, instance: lane.options.instance, fields,
        now: lane.now - ahead)
      sayWhoElseBeats(last)
      try await lookForTaps(heartbeat.lanes)
      guard try await writesPoint() else { return }
      // One worker does it for all. One that waits for Kafka cannot tell what nobody works on.
      try await lane.record.forgetDeadWorkers(now: lane.now - ahead)
      if figures.waitsFor.isEmpty { try await overdue.endAll() }
    } catch {
      // The next beat comes soon; that Redis is away is said by whoever needs it.
      lane.log.debug("no heartbeat", ["error": .text("\(error)")])
    }
  }

  /// The worker stops: dashboards need not take it for dead. Does not wait for a Redis that is
  /// away.
  func end() async {
    isOver = true
    guard hasBeaten, lane.redis.obstacle == nil else { return }
    try? await lane.record.forget(worker: lane.options.workerID)
  }

  /// Whether this worker was the first to write the point of this interval of the series. It tries
  /// once in each: beats are more frequent, and a try reads all counters.
  private func writesPoint() async throws(RecordError) -> Bool {
    let now = lane.now
    let point = RecordStage.seriesPoint(at: now)
    guard point != lastPoint else { return false }
    let isFirst = try await lane.record.appendSeriesPoint(now: now)
    lastPoint = point
    return isFirst
  }

  private func lookForTaps(_ lanes: [Lane]) async throws(RecordError) {
    let (request, workers) = try await lane.record.tapRequest()
    guard request != nil || isTapped else { return }
    isTapped = request != nil
    tapBudget.perSecond = Double(request?.rate ?? 0) / Double(workers)
    for lane in lanes { await lane.tap(request, tapBudget) }
  }

  /// After a restart the last beat was an earlier instance's, once. Later it is ours, unless
  /// another one lives.
  private func sayWhoElseBeats(_ last: String?) {
    defer { hasBeaten = true }
    guard hasBeaten, let last, last != lane.options.instance, lane.loop.now >= nextNamesakeLine
    else { return }
    nextNamesakeLine = lane.loop.now &+ Self.namesakeLineInterval.nanoseconds
    lane.log.warning(
      "another worker has the same id and overwrites this one's heartbeat: give each its own "
        + "worker.id",
      ["worker": .text(lane.options.workerID), "instance": .text(last)])
  }
}
