import Devices
import EventLoop
import HTTPServer
import Ingest
import Kafka
import Model
import Telemetry
import Threads

/// What the API's threads share, so that whichever answers says the same. Its actors live on the
/// first thread's loop.
package struct APISharedState: Sendable {
  let erasures: ErasureJobs
  let events: KafkaWriter
  let news: TokenNewsDoor?
  let importLimit: ImportLimit
  /// Of keys, by their names.
  let rates: ThreadLock<RequestRates<String>>
  /// Of those who show no key that is good.
  let strangers = ThreadLock(RequestRates<PeerAddress>(perSecond: 1, burst: 20))
  /// How many of those are audited.
  let refused = ThreadLock(RefusedRequests())

  package init(_ options: APIOptions, loop: EventLoop) {
    erasures = ErasureJobs(
      loop: loop, redis: options.redis, keyspace: options.keyspace,
      answeredWithin: min(.seconds(5), options.http.exchangeTimeout / 2))
    events = KafkaWriter(options, topic: options.ingest.eventsTopic, loop: loop)
    importLimit = ImportLimit(options.imports.atOnce)
    news = options.ingest.tokensTopic.map { TokenNewsDoor(options, topic: $0, loop: loop) }
    let perSecond = Double(options.requestsPerSecond)
    rates = ThreadLock(RequestRates(perSecond: perSecond, burst: perSecond))
  }

  /// Hears of devices that go from one user to another; nil where nobody is told.
  var tell: TellMoves? {
    guard let news else { return nil }
    return { (moves) async throws(DevicesError) in try await news.tell(moves) }
  }

  /// What only some requests need: events, and with news of tokens devices that change hands.
  func health() async -> HealthPart {
    var trouble = await events.trouble
    if trouble == nil { trouble = await news?.trouble }
    return HealthPart("kafka", trouble: trouble, isVital: false)
  }

  func start() async {
    await events.start()
    await news?.start()
  }

  package func close() async {
    await erasures.close()
    await events.close()
    await news?.close()
  }
}

/// Tells whoever keeps devices too of those that another user has logged in with.
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
