import Deliver
import EventLoop
import Expand
import Ingest
import Kafka
import Keyspace
import Model
import Record
import Redis
import Render
import Spans
import Telemetry

/// Everything a worker is made of; Settings fills it.
package struct PipelineOptions: Sendable {
  package var workerID: String
  package var version: String
  /// Of the libraries in use, by name.
  package var libraries: [String: String] = [:]
  /// Lanes; one per core is what pays.
  package var lanes: Int
  package var limits = LaneLimits()
  package var rates = PushRates()
  /// How long a segment that has nothing else left waits for pushes that want another try.
  package var straggleAfter: Duration = .seconds(2)
  /// How long stragglers rest before they are tried again. One delay for all, so that the records
  /// of a partition are in the order of their time.
  package var straggleDelay: Duration = .seconds(5)
  /// Followers that were read while Redis was asked whether a segment is ours are used for so long;
  /// it may have to be asked for hours.
  package var readAheadLifetime: Duration = .seconds(5)
  /// A claim on a segment ends after this without being renewed, and with a crashed worker.
  package var claimLifetime: Duration = .seconds(10)
  /// Stragglers whose segment was not settled so long after they were due are sent without it: a
  /// worker that died is replaced, and its segment claimed again, within this.
  var adoptAfter: Duration { kafka.sessionTimeout + claimLifetime * 3 }
  /// How long a rebalance is kept waiting for what was begun.
  package var revokeTimeout: Duration = .seconds(5)
  /// Tells this process from an earlier one with the same worker's id.
  package var instance: String
  /// Where all that the lanes leave to chance comes from: jitter, the numbers of what is written.
  /// Two calls give two numbers.
  package var randomNumber: @Sendable () -> UInt64
  /// 0..<1, by that source.
  var randomFraction: @Sendable () -> Double {
    { [randomNumber] in Double(randomNumber() >> 11) / Double(1 << 53) }
  }
  /// The worker's clock, in ms since 1970: Deliver's, and that of everything here.
  package var wallClock: @Sendable () -> Int64 {
    get { deliver.wallClock }
    set { deliver.wallClock = newValue }
  }
  /// The most that the worker keeps in memory, with these options.
  package var memoryBudget: MemoryBudget {
    MemoryBudget(
      lanes: lanes, limits: limits, ingest: ingest, expand: expand,
      connectionBytes: deliver.routes.count
        * DeliverOptions.maximumConnectionBytes(
          connections: max(deliver.connectionsPerRoute, deliver.mostConnectionsPerRoute ?? 0),
          streams: deliver.streamsPerConnection),
      kafka: kafka, probeBytes: probeBytes,
      publishesOutcomes: ingest.outcomesTopic != nil && outcomeShare > 0,
      spanBytes: spans == nil ? 0 : SpanQueue.maximumBytes)
  }
  /// The most that clients of the process' probes can make it keep.
  package var probeBytes = 0
  /// How long a stopping worker waits for what is in flight.
  package var drainTimeout: Duration = .seconds(20)
  package var heartbeatInterval: Duration = .seconds(10)
  package var kafka: KafkaOptions
  package var clients = KafkaClients.system
  /// Makes the loops of lanes and of the pump, by name.
  package var makeLoop: @Sendable (String) -> EventLoop = { EventLoop(name: $0) }
  package var ingest: IngestOptions
  package var redis: RedisOptions
  package var keyspace: Keyspace
  package var expand: ExpandOptions
  package var record: RecordOptions
  /// Of users, whose pushes' outcomes are published where there is a topic for outcomes: 0...1.
  package var outcomeShare: Double = 0
  /// Where spans of traces go; nil: none are made.
  package var spans: SpanOptions?
  package var deliver: DeliverOptions
  /// Those at the start.
  package var templates: [Template]
  /// How long a record rests whose template is none of them; zero: not at all.
  package var templateWait: Duration = .zero {
    didSet { templateWaits = TemplateWaits(limit: templateWait) }
  }
  private(set) var templateWaits = TemplateWaits(limit: .zero)
  /// Looks whether the files of the templates have changed; nil: they have not. `isSettled`:
  /// whoever wrote them says that they are whole.
  package var lookAtTemplates: @Sendable (_ isSettled: Bool) -> TemplateChange? = { _ in nil }
  /// How often it is called; zero: only when somebody asks for it.
  package var templateInterval: Duration = .zero
  package var templateReloads: @Sendable () -> ReloadFigures = { ReloadFigures() }
  package var credentials: AppCredentials
  /// Looks whether the files of the credentials have changed, and uses what they are now.
  package var lookAtCredentials: @Sendable () -> [PlatformCredentialChange] = { [] }
  package var credentialAges: @Sendable () -> [CredentialAge] = { [] }
  /// Seconds since 1970, of those that end first; nil when none do.
  package var credentialsExpireAt: @Sendable () -> Int64? = { nil }
  /// How many of those files cannot be used as they are now; those before are used on.
  package var unfitCredentials: @Sendable () -> Int = { 0 }
  package var log: Log
  /// Called once, when the group has given this worker its first partitions.
  package var whenReady: @Sendable () -> Void = {}
  /// Called when that has come to an end: the worker drains, or has no partition any more.
  package var whenUnready: @Sendable () -> Void = {}
  /// Called once, with the reason, when the worker can do nothing more and must be restarted.
  package var whenFailed: @Sendable (String) -> Void = { _ in }

  /// The memory and CPU time of the process.
  package var processUsage: @Sendable () -> ProcessUsage
  /// Seconds since 1970.
  package var processStartTime: Double

  package init(
    workerID: String, version: String, lanes: Int, kafka: KafkaOptions, ingest: IngestOptions,
    redis: RedisOptions, keyspace: Keyspace, expand: ExpandOptions, record: RecordOptions,
    deliver: DeliverOptions, templates: [Template], credentials: AppCredentials, log: Log,
    randomNumber: @escaping @Sendable () -> UInt64,
    processUsage: @escaping @Sendable () -> ProcessUsage, processStartTime: Double
  ) {
    self.workerID = workerID
    self.version = version
    self.lanes = max(lanes, 1)
    self.kafka = kafka
    self.ingest = ingest
    self.redis = redis
    self.keyspace = keyspace
    self.expand = expand
    self.record = record
    self.deliver = deliver
    self.templates = templates
    self.credentials = credentials
    self.log = log
    self.randomNumber = randomNumber
    self.processUsage = processUsage
    self.processStartTime = processStartTime
    instance = String(randomNumber(), radix: 36)
  }
}
