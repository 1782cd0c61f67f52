import Dashboard
import DeadLetters
import HTTPServer
import Ingest
import Kafka
import Keyspace
import Redis
import Subscriptions
import Telemetry
import Traces

/// The settings of an API. Nothing connects before `start`.
package struct APIOptions: Sendable {
  /// The purpose of such a process.
  package enum Mode: Sendable {
    case api
    /// The dashboard alone, with Redis alone: nothing is written, and Kafka is not needed.
    case dashboard(needsKey: Bool)
  }

  package var mode = Mode.api
  package var http: HTTPServerOptions
  package var redis: RedisOptions
  package var kafka: KafkaOptions
  package var keyspace: Keyspace
  package var ingest: IngestOptions
  /// Where followers without shards may stand: the pattern of `audience.plain_set_key`.
  package var plainSetKey: String?
  package var keys: APIKeyRing
  /// Which browsers' subscriptions are taken.
  package var subscriptions = SubscriptionRules()
  package var imports = ImportOptions()
  /// Searches of dead letters, of all threads together.
  package var letterFinder = LetterFinder()
  /// How many threads answer. Each has its part of the connections, which is more than the imports
  /// that it may do at once: the API has fewer threads where there would not be enough for all.
  package var threads = 1
  /// Of one key; a burst may be as many.
  package var requestsPerSecond: Int
  /// Why workers would have no such template; nil when they have it, or when nobody knows.
  package var templateProblem: @Sendable (_ template: String) -> String?
  /// The templates of this process as readers would see them; nil: it has none.
  package var templateSamples: TemplateSamples?
  /// Of the templates' files.
  package var templateReloads: @Sendable () -> ReloadFigures = { ReloadFigures() }
  /// Versions that the process reports: its own, and those of the libraries in use by name.
  package var version = ""
  package var libraries: [String: String] = [:]
  package var log: Log
  /// A line for each change, with nothing left out.
  package var audit: Log?
  package var trace: TraceOptions
  /// Ms since 1970.
  package var wallClock: @Sendable () -> Int64

  package init(
    http: HTTPServerOptions, redis: RedisOptions, kafka: KafkaOptions, keyspace: Keyspace,
    ingest: IngestOptions, plainSetKey: String?, keys: APIKeyRing, requestsPerSecond: Int,
    templateProblem: @escaping @Sendable (String) -> String?, log: Log, audit: Log?,
    wallClock: @escaping @Sendable () -> Int64
  ) {
    self.http = http
    self.redis = redis
    self.kafka = kafka
    self.keyspace = keyspace
    self.ingest = ingest
    self.plainSetKey = plainSetKey
    self.keys = keys
    self.requestsPerSecond = requestsPerSecond
    self.templateProblem = templateProblem
    self.log = log
    self.audit = audit
    self.wallClock = wallClock
    trace = TraceOptions(keyspace: keyspace, ingest: ingest, plainSetKey: plainSetKey)
  }
}

extension APIOptions {
  var isReadOnly: Bool { if case .dashboard = mode { true } else { false } }

  /// Everybody who reaches it may look: it listens on the loopback interface alone.
  var needsKey: Bool { if case .dashboard(let needsKey) = mode { needsKey } else { true } }
}

/// Limits on imports.
package struct ImportOptions: Sendable {
  /// Of one body.
  package var maximumBytes = 1 << 30
  /// In this process: each keeps some MiB, and Redis busy.
  package var atOnce = 4
  /// From its head to its answer.
  package var timeout: Duration = .seconds(3600)
  /// Bytes a second: a slower client could keep others out for as long as it likes.
  package var minimumRate = 16 << 10

  package init() {}
}
