import APNs
import Assembly
import Deliver
import Expand
import Fixtures
import Ingest
import JSON
import Kafka
import Keyspace
import Model
import Pipeline
import Processes
import Redis
import Rules
import TLS
import Telemetry
import Testing
import Text
import Transport

@testable import Settings

/// From a configuration to what each room takes, with no key at its default and no value twice: a
/// line of the assembly that is forgotten, or swapped with another, gives a wrong one.
@Suite struct AssemblyTests {
  private let directory: ScratchDirectory

  init() throws {
    directory = try ScratchDirectory()
    _ = try directory.write("payload: { aps: { alert: hello } }\n", to: "hello.yaml")
    for name in ["key.p8", "vapid.pem", "o.pem"] {
      _ = try directory.write(try ES256Key.generate().privateKeyPEM, to: name)
    }
    let authority = try ThrowAwayAuthority(hosts: ["localhost"])
    for name in ["apns.pem", "redis.pem", "kafka.pem", "traces.pem"] {
      _ = try directory.write(authority.authorityCertificate, to: name)
    }
  }

  @Test func probesAreServedWhereTheyAreWanted() throws {
    let options = try #require(Assembly.probeOptions(try settings()))
    #expect(options.host == "h-32" && options.port == 33)
    #expect(options.maximumBodyBytes == 0, "no probe takes a body")
    #expect(Assembly.probeOptions(.defaults) == nil)
    let bytes = Assembly.memoryBudget(try settings()).process.first { $0.name == "probes" }?.bytes
    #expect(bytes == options.maximumMemoryBytes(answerBytes: 64 << 10))
  }

  private func settings(_ yaml: String = SampleConfiguration.yaml) throws -> Settings {
    let file = try directory.write(yaml, to: "fanfare.conf")
    let report = SettingsLoader.load(
      SettingsInput(file: file, environment: [:], overrides: [], requirements: [.credentials]))
    return try report.settings()
  }

  @Test func theConfigurationOfThisTestLeavesNoKeyOut() throws {
    let file = try directory.write(SampleConfiguration.yaml, to: "fanfare.conf")
    let report = SettingsLoader.load(SettingsInput(file: file, environment: [:], overrides: []))
    #expect(report.problems.isEmpty, "\(report.problems)")
    var layers = SettingsLayers(baseDirectory: "")
    layers.read(file: file)
    for key in SettingTable.keys {
      // Their secrets are given directly.
      if key.path.hasSuffix("password_file") || key.path == "traces.headers_file" { continue }
      // In the place of a key, or of host and port: they have tests of their own.
      if key.path.hasPrefix("apns.certificate_") || key.path == "apns.apps" { continue }
      if ["service_account_file", "token_command", "metadata", "metadata_host", "apps"].contains(
        key.path.dropFirst(4)), key.path.hasPrefix("fcm.")
      {
        continue
      }
      if key.path == "redis.tls.certificate_file" || key.path == "redis.tls.key_file" { continue }
      if key.path == "redis.cluster" || key.path.hasPrefix("redis.sentinel.") { continue }
      #expect(layers.source(of: key.path) != .builtIn, "\(key.path)")
      guard let usual = key.defaultValue else { continue }
      var settings = report.read
      key.apply(&settings, usual)
      #expect(settings != report.read, "\(key.path)")
    }
  }

  @Test func kafkaAndEventsGetWhatTheyAreTold() throws {
    let kafka = try Assembly.kafkaOptions(settings())
    var expected = KafkaOptions(bootstrapServers: "k1:9001,k2:9002")
    expected.group = "a-group"
    expected.staticMember = "w-29"
    expected.clientID = "a-client"
    expected.securityProtocol = .saslTLS
    expected.saslMechanism = "SCRAM-SHA-256"
    expected.username = "ku"
    expected.password = "kp"
    expected.caFile = directory.file("kafka.pem")
    expected.fetchWaitMaximum = .milliseconds(101)
    expected.sessionTimeout = .seconds(91)
    expected.heartbeatInterval = .seconds(4)
    expected.pollIntervalMaximum = .seconds(91)
    expected.properties = ["socket.keepalive.enable": "true"]
    #expect(kafka == expected)
    let plain = SampleConfiguration.yaml.replacing(
      "protocol: sasl_ssl", with: "protocol: plaintext")
    let anonymous = try Assembly.kafkaOptions(settings(plain))
    #expect(anonymous.username == nil && anonymous.caFile == nil)
    #expect(anonymous.securityProtocol == .plaintext)
    let kerberos = try Assembly.kafkaOptions(
      settings(SampleConfiguration.yaml.replacing("SCRAM-SHA-256", with: "GSSAPI")))
    #expect(kerberos.saslMechanism == "GSSAPI")
    #expect(kerberos.username == nil && kerberos.password == nil)

    var ingest = IngestOptions()
    ingest.eventsTopic = "t-events"
    ingest.segmentsTopic = "t-segments"
    ingest.bulkTopic = "t-bulk"
    ingest.stragglersTopic = "t-late"
    ingest.deadLettersTopic = "t-dead"
    ingest.tokensTopic = "t-tokens"
    ingest.outcomesTopic = "t-outcomes"
    ingest.rootTraceShare = 0.03
    ingest.maximumEventBytes = 5 << 10
    ingest.defaultExpirySeconds = 27
    ingest.maximumExpirySeconds = 28 * 3600
    ingest.maximumSendAhead = .seconds(29 * 3600)
    #expect(try Assembly.ingestOptions(settings()) == ingest)
  }

  /// Each is said once as a setting, and once for whoever has no settings.
  @Test func theDefaultsOfRedisAreTheSettings() throws {
    let (settings, own) = (try Assembly.redisOptions(.defaults), RedisOptions())
    #expect(settings.endpoint == own.endpoint && settings.database == own.database)
    #expect(settings.connectTimeout == own.connectTimeout)
    #expect(settings.commandTimeout == own.commandTimeout)
    #expect(settings.reconnectMinimum == own.reconnectMinimum)
    #expect(settings.reconnectMaximum == own.reconnectMaximum)
  }

  @Test func aClusterHasNodesToBeginWith() throws {
    var settings = Settings.defaults
    settings.redis.cluster = ["a.example:7000", "[2001:db8::1]:7001"]
    let nodes = try Assembly.redisOptions(settings).clusterNodes
    #expect(nodes.map(\.host) == ["a.example", "2001:db8::1"])
    #expect(nodes.map(\.port) == [7000, 7001])
  }

  @Test func sentinelsAreAskedForTheirMaster() throws {
    var settings = Settings.defaults
    #expect(try Assembly.redisOptions(settings).sentinel == nil)
    settings.redis.sentinel.nodes = ["s.example:26379"]
    settings.redis.sentinel.master = "m"
    settings.redis.sentinel.password = Secret("sp")
    let sentinel = try #require(try Assembly.redisOptions(settings).sentinel)
    #expect(sentinel.nodes == [Endpoint(host: "s.example", port: 26379)])
    #expect(sentinel.master == "m" && sentinel.password == "sp")
  }

  @Test func redisGetsWhatItIsTold() throws {
    let redis = try Assembly.redisOptions(settings())
    #expect(redis.endpoint == Endpoint(host: "redis.example", port: 6001))
    #expect(redis.clusterNodes.isEmpty)
    #expect(redis.username == "ru" && redis.password == "rp" && redis.database == 6)
    #expect(redis.tls != nil && redis.clientName == "fanfare")
    #expect(redis.connectTimeout == .seconds(7) && redis.commandTimeout == .seconds(8))
    #expect(redis.reconnectMinimum == .milliseconds(109))
    #expect(redis.reconnectMaximum == .seconds(10) && redis.replicasToWaitFor == 3)
    #expect(redis.replicaLagLimit == .seconds(37))
    let masters = SampleConfiguration.yaml.replacing("read_from_replicas: true", with: "")
    #expect(try Assembly.redisOptions(settings(masters)).replicaLagLimit == nil)
    let plain = SampleConfiguration.yaml.replacing("enabled: true", with: "enabled: false")
    #expect(try Assembly.redisOptions(settings(plain)).tls == nil)
    #expect(try Assembly.keyspace(settings()) == Keyspace(data: "pd:", dashboards: "pb:"))
    let expand = try Assembly.expandOptions(settings())
    #expect(expand.pageSize == 111 && expand.plainSetKey == "plain:{streamer}")
  }

  @Test func deliveryGetsWhatItIsTold() throws {
    let deliver = try Assembly.deliverOptions(settings()) { _ in }
    #expect(
      deliver.routes.mapValues(\.endpoint) == [
        .production: Endpoint(host: "production.example", port: 2001),
        .sandbox: Endpoint(host: "sandbox.example", port: 2002),
        .fcm: Endpoint(host: "fcm.example", port: 2008),
        .webpush: Endpoint(host: "push.invalid", port: 443),
      ])
    let android = deliver.routes[.fcm]?.connections
    #expect(android?.usual == 3 && android?.most == 9 && android?.streams == 99)
    let browsers = deliver.routes[.webpush]
    #expect(browsers?.connections?.usual == 2 && browsers?.connections?.most == 5)
    #expect(browsers?.connections?.streams == 98 && browsers?.mayUseHTTP1 == true)
    #expect(browsers?.connectTo == Endpoint(host: "127.0.0.1", port: 2009))
    let proxy = HTTPProxy(
      endpoint: Endpoint(host: "proxy.example", port: 2007), username: "pu", password: "pp")
    #expect(deliver.routes[.production]?.proxy == proxy && deliver.routes[.sandbox]?.proxy == proxy)
    let others = [("g", 2010, Destination.fcm), ("w", 2011, .webpush)].map { name, port, route in
      deliver.routes[route]?.proxy
        == HTTPProxy(
          endpoint: Endpoint(host: "\(name).example", port: port), username: "\(name)u",
          password: "\(name)p")
    }
    #expect(others == [true, true])
    #expect(try Assembly.deliverRoutes(.defaults).values.map(\.proxy) == [nil, nil])
    #expect(deliver.connectionsPerRoute == 12 && deliver.mostConnectionsPerRoute == 14)
    #expect(deliver.streamsPerConnection == 113 && deliver.readyPushes == 114)
    #expect(deliver.requestTimeout == .seconds(15))
    #expect(deliver.connectTimeout == .seconds(16))
    #expect(deliver.pingInterval == .seconds(17 * 60))
    #expect(deliver.retry == RetryPolicy(initial: .milliseconds(118), maximum: .seconds(19)))
  }

  /// A proxy looks up names of the hosts that are listed; any others are looked up and checked
  /// here.
  @Test(arguments: [
    ("[browsers]", false, true), ("[browsers]", true, false), ("['*']", true, true),
    ("['*']", false, true),
  ])
  func addressesOfPushServicesAreCheckedWhereTheyAreLookedUp(
    hosts: String, hasProxy: Bool, isChecked: Bool
  ) throws {
    let yaml = SampleConfiguration.yaml.replacing("hosts: [push.example]", with: "hosts: \(hosts)")
      .replacing(#"connect_to: "127.0.0.1:2009", "#, with: "")
      .replacing(
        "proxy: { host: w.example, port: 2011, username: wu, password: wp }, ",
        with: hasProxy ? "proxy: { host: w.example }, " : "")
    let target = try Assembly.deliverRoutes(settings(yaml))[.webpush]
    #expect((target?.proxy != nil) == hasProxy && target?.connectTo == nil)
    #expect(target?.refusesAddress?([10, 0, 0, 1]) == (isChecked ? true : nil))
  }

  @Test(arguments: ["production", "sandbox"])
  func eachEnvironmentHasAnInterfaceOfItsOwn(legacy: String) throws {
    let host = "host: \(legacy).example"
    let yaml = SampleConfiguration.yaml.replacing(", interface: binary", with: "")
      .replacing(host, with: host + ", interface: binary")
    let routes = try Assembly.deliverRoutes(settings(yaml))
    #expect(routes.count == 4)
    for (environment, route) in routes where environment.platform == .apns {
      let isLegacy = environment.name == legacy
      #expect(route.interface?.silence == (isLegacy ? .seconds(4) : nil))
      // A gateway of that time agrees on no protocol.
      #expect(route.tls?.applicationProtocols == (isLegacy ? [] : ["h2"]))
    }
  }

  /// Which file is whose shows when one of them cannot be used.
  @Test(arguments: ["apns.pem", "redis.pem"])
  func theCertificatesOfEachAreItsOwn(file: String) throws {
    let settings = try settings()
    _ = try directory.write(
      "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", to: file)
    func fails(_ body: () throws -> Void) -> Bool {
      do { try body() } catch { return true }
      return false
    }
    let isApple = file == "apns.pem"
    let hasAppleFailed = fails { _ = try Assembly.deliverOptions(settings) { _ in } }
    let hasRedisFailed = fails { _ = try Assembly.redisOptions(settings) }
    #expect(hasAppleFailed == isApple && hasRedisFailed == !isApple)
  }

  @Test func providerTokensAreSignedAsTold() throws {
    let tokens = try ProviderCredentials(settings()).tokens
    let now: Int64 = 1_767_225_600_000
    func text(_ now: Int64) throws -> String {
      String(decoding: try tokens.token(now: now).authorization.bytes, as: UTF8.self)
    }
    let first = try text(now)
    let parts = first.dropFirst("bearer ".count).split(separator: ".")
    func object(_ part: Substring) throws -> JSONObject? {
      let bytes = try #require(Base64URL.decode(Array(part.utf8)[...]))
      return try JSONValue.parse(bytes).object
    }
    #expect(try object(parts[0])?["kid"]?.string == "KEYKEYKEY1")
    #expect(try object(parts[1])?["iss"]?.string == "TEAMTEAM12")
    #expect(try object(parts[1])?["iat"]?.integer == now / 1_000)
    #expect(try text(now + 41 * 60_000 - 1_000) == first)
    #expect(try text(now + 41 * 60_000 + 1_000) != first)
  }

  @Test func theWorkerGetsWhatItIsTold() throws {
    let settings = try settings()
    let options = try Assembly.pipelineOptions(
      settings, version: "9.8.7", log: Log(sink: MemorySink()))
    #expect(options.workerID == "w-29" && options.version == "9.8.7")
    #expect(options.lanes == 20 && options.limits.segments == 21)
    #expect(options.limits.bulk == 21)
    #expect(options.limits.batchBytes == 30 << 20)
    #expect(options.straggleAfter == .seconds(22))
    #expect(options.straggleDelay == .seconds(23))
    #expect(options.record.cooldown == .seconds(30))
    #expect(options.outcomeShare == 0.02 && options.spans != nil)
    let document = try #require(options.spans?.document.text(of: []))
    #expect(document.contains("deployment.environment.name") && document.contains("w-29"))
    #expect(options.record.trace == .all && options.record.traceMaximum == 40)
    #expect(options.record.removalShare == 44 && options.record.removalSamples == 45)
    #expect(options.record.removalWindow == .seconds(46))
    #expect(options.rates.event == 34 && options.rates.apps == ["com.example.x": 35])
    #expect(options.claimLifetime == .seconds(24))
    #expect(options.revokeTimeout == .seconds(25))
    #expect(options.drainTimeout == .seconds(26))
    #expect(options.heartbeatInterval == .seconds(18))
    #expect(options.templates.map(\.name) == ["hello"])
    #expect(options.templateWait == .seconds(47))
    #expect(options.templateInterval == .seconds(48))
    // Each room's options are its own.
    #expect(options.kafka == Assembly.kafkaOptions(settings))
    #expect(options.ingest == Assembly.ingestOptions(settings))
    #expect(options.redis.endpoint.host == "redis.example" && options.redis.database == 6)
    #expect(options.keyspace == Keyspace(data: "pd:", dashboards: "pb:"))
    #expect(options.expand.pageSize == 111)
    #expect(options.expand.rules.fields == RuleField.allCases)
    #expect(options.expand.rules.picksNewestDevice && options.expand.rules.eventsPerHour == 34)
    #expect(try Assembly.rules(.defaults).eventsPerHour == nil)
    let unnamed = UnsafeRawBufferPointer(start: nil, count: 0)
    #expect(options.expand.rules.timeZones?[unnamed].minuteOfDay(at: 0) == 5 * 60 + 45)
    let nowhere = SampleConfiguration.yaml.replacing("Asia/Kathmandu", with: "Asia/Nowhere")
    let wrong = #expect(throws: SettingsError.self) { try Assembly.rules(self.settings(nowhere)) }
    #expect(wrong?.problems.map(\.key) == ["rules.default_time_zone"])
    #expect(options.deliver.readyPushes == 114)
    let route = try #require(options.deliver.routes[.production])
    let account = options.credentials.account(of: "any", on: "apns")
    #expect(
      try (account as? APNsCredentials)?.authorizing(route, now: 0).authorization != nil)
    #expect(options.lookAtCredentials().isEmpty && options.credentialsExpireAt() == nil)

    let everyCore = SampleConfiguration.yaml.replacing("count: 20", with: "count: 0")
    let widest = try Assembly.pipelineOptions(
      self.settings(everyCore), version: "9.8.7", log: Log(sink: MemorySink()))
    #expect(widest.lanes >= 1)
  }

  @Test func theLogGetsWhatItIsTold() throws {
    let log = try Assembly.logOptions(settings())
    #expect(log.level == .debug && log.format == .json)
    #expect(try Assembly.log(settings()).isEnabled(.debug))
    let quiet = SampleConfiguration.yaml.replacing(
      "level: debug, format: json", with: "level: error, format: text")
    #expect(try Assembly.logOptions(settings(quiet)).level == .error)
    guard case .text = try Assembly.logOptions(settings(quiet)).format else {
      Issue.record("text was asked for")
      return
    }
  }
}
