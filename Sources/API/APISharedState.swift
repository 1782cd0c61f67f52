import Dashboard
import Devices
import EventLoop
import HTTPServer
import Ingest
import Kafka
import Model
import Telemetry
import Threads
import Traces

/// State that the API's threads share, so that each of them gives the same answer. Its actors live
/// on the first thread's loop.
package struct APISharedState: Sendable {
  let erasures: ErasureJobs
  let events: KafkaWriter
  let news: TokenNewsDoor?
  let deadLetters: DeadLetterDesk
  let importLimit: ImportLimit
  let streamLimit: StreamLimit
  package let dashboard: Dashboard
  private let isReadOnly: Bool
  /// Request rates of keys, by name.
  let rates: ThreadLock<RequestRates<String>>
  /// Rates of requests without a good key, by address.
  let strangers = ThreadLock(RequestRates<PeerAddress>(perSecond: 1, burst: 20))
  /// The bound on audit lines of refused requests.
  let refused = ThreadLock(RefusedRequests())

  package init(_ options: APIOptions, loop: EventLoop) {
    erasures = ErasureJobs(
      loop: loop, redis: options.redis, keyspace: options.keyspace,
      answeredWithin: min(.seconds(5), options.http.exchangeTimeout / 2))
    events = KafkaWriter(options, topic: options.ingest.eventsTopic, loop: loop)
    deadLetters = DeadLetterDesk(options, loop: loop)
    importLimit = ImportLimit(options.imports.atOnce)
    streamLimit = StreamLimit(maximum: APIServer.streams(of: options))
    dashboard = Dashboard(Self.dashboardOptions(options))
    isReadOnly = options.isReadOnly
    news = options.ingest.tokensTopic.map { TokenNewsDoor(options, topic: $0, loop: loop) }
    let perSecond = Double(options.requestsPerSecond)
    rates = ThreadLock(RequestRates(perSecond: perSecond, burst: perSecond))
  }

  private static func dashboardOptions(_ options: APIOptions) -> DashboardOptions {
    let log = options.log
    var dashboard = DashboardOptions(
      redis: options.redis, keyspace: options.keyspace,
      mode: options.isReadOnly ? .dashboard : .api, version: options.version,
      needsKey: options.needsKey, templates: options.isReadOnly ? nil : options.templateSamples,
      advice: { RejectionAdvice.text(onReason: $0, ofPlatform: $1) }, wallClock: options.wallClock)
    dashboard.log = { log.warning("redis, for the dashboard: \($0)") }
    return dashboard
  }

  /// Hears of devices that go from one user to another; nil where nobody is told.
  var tell: TellMoves? {
    guard let news else { return nil }
    return { (moves) async throws(DevicesError) in try await news.tell(moves) }
  }

  /// The health of Kafka, which only some requests need: events and, with token news, devices that
  /// change hands; nil where none does.
  func health() async -> HealthPart? {
    guard !isReadOnly else { return nil }
    var trouble = await events.trouble
    if trouble == nil { trouble = await news?.trouble }
    return HealthPart("kafka", trouble: trouble, isVital: false)
  }

  func start() async {
    await dashboard.start()
    guard !isReadOnly else { return }
    await events.start()
    await news?.start()
  }

  package func close() async {
    await dashboard.close()
    dashboard.end()
    await erasures.close()
    await events.close()
    await news?.close()
  }
}

/// Tells other systems that keep devices which of them another user has logged in with.
struct TokenNewsDoor: Sendable {
  private let writer: KafkaWriter
  private let now: @Sendable () -> Int64

  init(_ options: APIOptions, topic: String, loop: EventLoop) {
    writer = KafkaWriter(options, topic: topic, loop: loop)
    now = options.wallClock
  }

  func start() async { await writer.start() }
  func close() async { await writer.close() }

  /// Why nobody could be told now, in words.
  var trouble: String? { get async { await writer.trouble } }

  /// Returns when every replica in sync has all of it.
  func tell(_ moves: [DeviceMove]) async throws(DevicesError) {
    for move in moves {
      let (key, value) = TokenNewsRecord.encode(
        TokenNews(.moved(to: move.to), user: move.from, move.binding, at: now()))
      do throws(KafkaError) {
        _ = try await writer.send(key: key, value)
      } catch {
        throw DevicesError(
          .untold, "the device is bound, and Kafka takes no news of its former user: \(error)")
      }
    }
  }
}
