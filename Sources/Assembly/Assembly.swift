import Deliver
import Expand
import HTTPServer
import Ingest
import Kafka
import Keyspace
import Legacy
import Model
import Redis
import Render
import Rules
import Settings
import TLS
import Telemetry
import Text
import Traces
import Transport

/// From settings to what each room takes. Nothing here connects; what throws has looked at a file.
package enum Assembly {
  /// nil: nothing is to be served.
  package static func probeOptions(_ settings: Settings) -> HTTPServerOptions? {
    guard settings.probes.port > 0 else { return nil }
    var options = HTTPServerOptions(wallClock: { WallClock.nowMilliseconds() })
    options.host = settings.probes.host
    options.port = settings.probes.port
    // No route reads one.
    options.maximumBodyBytes = 0
    return options
  }

  package static func kafkaOptions(_ settings: Settings) -> KafkaOptions {
    let kafka = settings.kafka
    var options = KafkaOptions(bootstrapServers: kafka.bootstrapServers.joined(separator: ","))
    options.clientID = kafka.clientID
    options.group = kafka.group
    options.staticMember = kafka.staticMembership ? settings.worker.id : nil
    options.securityProtocol =
      switch kafka.security.securityProtocol {
      case .plaintext: .plaintext
      case .ssl: .tls
      case .saslPlaintext: .saslPlaintext
      case .saslSSL: .saslTLS
      }
    // librdkafka complains of a log-in that the protocol has no use for.
    if kafka.security.securityProtocol.usesSASL {
      options.saslMechanism = kafka.security.mechanism?.rawValue
      if kafka.security.mechanism?.usesPassword == true {
        options.username = kafka.security.username
        options.password = kafka.security.password?.exposed
      }
    }
    options.caFile = kafka.security.securityProtocol.usesTLS ? kafka.security.caFile : nil
    options.fetchWaitMaximum = kafka.fetchWaitMaximum
    options.sessionTimeout = kafka.sessionTimeout
    options.heartbeatInterval = kafka.heartbeatInterval
    options.pollIntervalMaximum = max(options.pollIntervalMaximum, kafka.sessionTimeout)
    options.properties = kafka.properties
    return options
  }

  /// How a look at the brokers' certificates is secured, as librdkafka does it: nil without TLS.
  /// Certificates in `kafka.properties` are librdkafka's alone.
  package static func kafkaSecurity(
    _ settings: Settings
  ) throws(SettingsError) -> ClientSecurity? {
    let kafka = settings.kafka.security
    guard kafka.securityProtocol.usesTLS else { return nil }
    return try security("kafka.security.ca_file", kafka.caFile, protocols: [])
  }

  package static func ingestOptions(_ settings: Settings) -> IngestOptions {
    var options = IngestOptions()
    options.eventsTopic = settings.kafka.topics.events
    options.segmentsTopic = settings.kafka.topics.segments
    options.bulkTopic = settings.kafka.topics.bulkSegments
    options.stragglersTopic = settings.kafka.topics.stragglers
    options.deadLettersTopic = settings.kafka.topics.deadLetters
    options.tokensTopic = settings.kafka.topics.tokens
    options.outcomesTopic = settings.kafka.topics.outcomes
    options.rootTraceShare = settings.traces.endpoint == nil ? nil : settings.traces.share
    options.maximumEventBytes = settings.kafka.maximumEventBytes
    options.defaultExpirySeconds = settings.events.defaultExpiresIn.components.seconds
    options.maximumExpirySeconds = settings.events.maximumExpiresIn.components.seconds
    options.maximumSendAhead = settings.events.maximumSendAhead
    return options
  }

  package static func redisOptions(_ settings: Settings) throws(SettingsError) -> RedisOptions {
    let redis = settings.redis
    let sentinels = redis.sentinel.nodes.compactMap { endpoint($0) }
    let files = try RedisFiles(redis.tls, passwordFile: redis.passwordFile, "redis.tls.")
    var options = RedisOptions(
      host: redis.host, port: redis.port, clusterNodes: redis.cluster.compactMap { endpoint($0) },
      username: redis.username, password: redis.password?.exposed, database: redis.database,
      tls: files.tls, clientName: "fanfare", connectTimeout: redis.connectTimeout,
      commandTimeout: redis.commandTimeout, reconnectMinimum: redis.reconnectMinimum,
      reconnectMaximum: redis.reconnectMaximum, replicasToWaitFor: redis.waitForReplicas,
      replicaLagLimit: redis.readFromReplicas ? redis.replicaLagLimit : nil)
    options.refresh = { files.refresh(&$0) }
    guard !sentinels.isEmpty else { return options }
    let own = try RedisFiles(
      redis.tlsOfSentinels, passwordFile: redis.sentinel.passwordFile, "redis.sentinel.tls.")
    var sentinel = RedisSentinel(
      nodes: sentinels, master: redis.sentinel.master, username: redis.sentinel.username,
      password: redis.sentinel.password?.exposed)
    sentinel.tls = .some(own.tls)
    sentinel.refresh = { own.refresh(&$0) }
    options.sentinel = sentinel
    return options
  }

  /// Of `host:port`, which the table of settings has looked at; an IPv6 address is in brackets.
  package static func endpoint(_ text: String) -> Endpoint? {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...])
    else { return nil }
    let host = text[..<colon]
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    return Endpoint(host: String(isBracketed ? host.dropFirst().dropLast() : host), port: port)
  }

  package static func keyspace(_ settings: Settings) -> Keyspace {
    Keyspace(data: settings.redis.prefix.data, dashboards: settings.redis.prefix.dashboards)
  }

  package static func expandOptions(_ settings: Settings) -> ExpandOptions {
    ExpandOptions(pageSize: settings.audience.pageSize, plainSetKey: settings.audience.plainSetKey)
  }

  /// - Parameter report: hears what an operator should know, from any lane.
  package static func deliverOptions(
    _ settings: Settings, report: @escaping @Sendable (DeliverNotice) -> Void
  ) throws(SettingsError) -> DeliverOptions {
    let apns = settings.apns
    var options = DeliverOptions(wallClock: { WallClock.nowMilliseconds() }, report: report)
    options.routes = try deliverRoutes(settings)
    options.connectionsPerRoute = apns.connectionsPerLane
    options.mostConnectionsPerRoute = apns.mostConnectionsPerLane
    options.streamsPerConnection = apns.streamsPerConnection
    options.readyPushes = apns.readyPushesPerLane
    options.requestTimeout = apns.requestTimeout
    options.connectTimeout = apns.connectTimeout
    options.pingInterval = apns.pingInterval
    options.retry = RetryPolicy(initial: apns.retry.initial, maximum: apns.retry.maximum)
    return options
  }

  package static func deliverRoutes(
    _ settings: Settings
  ) throws(SettingsError) -> [Destination: RouteTarget] {
    let apns = settings.apns
    let tls = try security("apns.ca_file", apns.caFile, protocols: ["h2"])
    let proxy = proxy(apns.proxy)
    func route(_ server: Settings.APNs.Server) throws(SettingsError) -> RouteTarget {
      let endpoint = Endpoint(host: server.host, port: server.port)
      guard server.interface == .binary else {
        return RouteTarget(endpoint: endpoint, tls: tls, proxy: proxy)
      }
      return try legacyRoute(settings, endpoint)
    }
    var routes: [Destination: RouteTarget] = [
      .production: try route(apns.production), .sandbox: try route(apns.sandbox),
    ]
    let fcm = settings.fcm
    if fcm.isConfigured {
      var target = RouteTarget(
        endpoint: Endpoint(host: fcm.host, port: fcm.port),
        tls: try security("fcm.ca_file", fcm.caFile, protocols: ["h2"]),
        proxy: Self.proxy(fcm.proxy))
      target.connections = RouteTarget.Connections(
        usual: fcm.connectionsPerLane, most: fcm.mostConnectionsPerLane,
        streams: fcm.streamsPerConnection)
      routes[.fcm] = target
    }
    if settings.webpush.isConfigured { routes[.webpush] = try webPushTarget(settings) }
    return routes
  }

  static func proxy(_ settings: Settings.Proxy) -> HTTPProxy? {
    settings.host.map { host in
      HTTPProxy(
        endpoint: Endpoint(host: host, port: settings.port), username: settings.username,
        password: settings.password?.exposed ?? "")
    }
  }

  /// To a gateway of the legacy binary interface, which agrees on no protocol in TLS.
  private static func legacyRoute(
    _ settings: Settings, _ endpoint: Endpoint
  ) throws(SettingsError) -> RouteTarget {
    RouteTarget(
      endpoint: endpoint,
      tls: try security("apns.ca_file", settings.apns.caFile, protocols: []),
      interface: BinaryInterface(acceptedAfter: settings.apns.binaryAcceptedAfter),
      proxy: proxy(settings.apns.proxy))
  }

  /// To a feedback service of the legacy binary interface.
  package static func feedbackRoute(
    _ settings: Settings, host: String, port: Int
  ) throws(SettingsError) -> RouteTarget {
    try legacyRoute(settings, Endpoint(host: host, port: port))
  }

  package static func log(_ settings: Settings) -> Log { Log(logOptions(settings)) }

  package static func logOptions(_ settings: Settings) -> LogOptions {
    LogOptions(
      level: LogLevel(name: settings.log.level.rawValue) ?? .info,
      format: LogFormat.named(settings.log.format.rawValue) ?? .automatic())
  }

  static func security(
    _ key: String, _ caFile: String?, protocols: [String]
  ) throws(SettingsError) -> TLSClientContext {
    do {
      return try TLSClientContext(caFile: caFile, alpn: protocols)
    } catch {
      throw problem(key, "\(error)", hint: "it must hold PEM certificates")
    }
  }

  package static func problem(
    _ key: String, _ message: String, hint: String? = nil
  ) -> SettingsError {
    SettingsError(
      code: .invalidConfiguration,
      problems: [SettingsFinding(.problem, place: nil, key: key, message: message, hint: hint)])
  }
}

extension Assembly {
  package static func traceOptions(_ settings: Settings) throws(SettingsError) -> TraceOptions {
    traceOptions(settings, try rules(settings), nil)
  }

  /// As above, for a process that serves all the same where rules cannot be read.
  /// - Parameter files: its templates are used where there are any; otherwise each file is read
  ///   when it is asked for.
  static func traceOptions(
    _ settings: Settings, _ files: TemplateFiles?, log: Log
  ) -> TraceOptions {
    do {
      return traceOptions(settings, try rules(settings), files)
    } catch {
      log.warning(
        "traces do not say whose hours are quiet now",
        ["why": .text(error.problems.first?.message ?? "")])
      return traceOptions(settings, RecipientRules(), files)
    }
  }

  private static func traceOptions(
    _ settings: Settings, _ rules: RecipientRules, _ files: TemplateFiles?
  ) -> TraceOptions {
    let directory = settings.templates.directory
    return TraceOptions(
      keyspace: keyspace(settings), ingest: ingestOptions(settings),
      plainSetKey: settings.audience.plainSetKey, rules: rules
    ) { name in
      // It comes from Redis, and names a file.
      guard TemplateName.isValid(name) else { return nil }
      if let templates = files?.templates { return templates.first { $0.name == name } }
      return try? template(file: "\(directory)/\(name).yaml")
    }
  }
}

/// The system's time zones: a directory with a file for each, in directories of their own where the
/// name has a slash.
enum ZoneDirectory {
  static let path = "/usr/share/zoneinfo"

  /// `America/Argentina/Ushuaia`
  private static let maximumDepth = 3
  /// There are some 600 names. Those of `posix` and `right` are the same again.
  private static let maximumZones = 4_096
  private static let copies: Set<String> = ["posix", "right"]

  /// Files that are no time zones (lists, licences) are passed over.
  /// - Parameter since: seconds since 1970; earlier clock changes are dropped.
  static func read(_ directory: String, since: Int64) -> [String: ZoneClock] {
    var clocks: [String: ZoneClock] = [:]
    add(directory, "", maximumDepth, since, &clocks)
    return clocks
  }

  private static func add(
    _ directory: String, _ prefix: String, _ depth: Int, _ since: Int64,
    _ clocks: inout [String: ZoneClock]
  ) {
    guard depth > 0 else { return }
    for name in names(in: directory) where clocks.count < maximumZones {
      let path = "\(directory)/\(name)"
      if let file = try? BoundedFile.read(path, maximumBytes: ZoneFile.maximumBytes) {
        if let clock = ZoneFile.clock(file.bytes, since: since) { clocks[prefix + name] = clock }
      } else if !copies.contains(name) {
        add(path, "\(prefix)\(name)/", depth - 1, since, &clocks)
      }
    }
  }

  /// None for what is no directory.
  private static func names(in directory: String) -> [String] {
    (try? DirectoryNames.read(directory) { !$0.hasPrefix(".") }) ?? []
  }
}

/// Reads the files that settings name: the templates, time zones.
extension Assembly {
  /// Where the system's time zones are, a file for each.
  package static let timeZoneDirectory = ZoneDirectory.path

  /// Reads the time zones; without any, only events for a local hour and quiet hours lack them. The
  /// next process sees later changes.
  package static func rules(_ settings: Settings) throws(SettingsError) -> RecipientRules {
    var rules = RecipientRules(
      mutesStreamers: settings.rules.mutedStreamers,
      picksNewestDevice: settings.rules.devices == .newest,
      eventsPerHour: settings.rules.eventsPerHour > 0 ? settings.rules.eventsPerHour : nil)
    let clocks = ZoneDirectory.read(ZoneDirectory.path, since: WallClock.nowMilliseconds() / 1000)
    guard !clocks.isEmpty || !settings.rules.quietHours else {
      throw problem(
        "rules.quiet_hours", "needs time zones, and \(ZoneDirectory.path) has none",
        hint: "install the package tzdata")
    }
    let name = settings.rules.defaultTimeZone ?? "UTC"
    guard let fallback = TimeZones(clocks).clock(named: name) ?? (clocks.isEmpty ? .utc : nil)
    else {
      throw problem(
        "rules.default_time_zone", "\(Shown.value(name)) is no time zone of this system",
        hint: "it is a name such as Europe/Berlin")
    }
    rules.localZones = TimeZones(clocks, fallback: fallback)
    if settings.rules.quietHours { rules.timeZones = rules.localZones }
    return rules
  }

  /// Warns of settings that are allowed and wake people; nil where there are none.
  package static func ruleWarning(_ settings: Settings) -> String? {
    guard settings.rules.quietHours, settings.rules.defaultTimeZone == nil else { return nil }
    return
      "rules.quiet_hours is on and rules.default_time_zone is not set: who has no time zone in "
      + "the profile, or one that nobody knows, has quiet hours by UTC: set it to the zone that "
      + "most of your users live in"
  }

  /// Reads and compiles every template; throws all problems of all files at once.
  package static func templates(_ settings: Settings) throws(SettingsError) -> [Template] {
    let (templates, problems) = templatesAndProblems(settings)
    guard problems.isEmpty else { throw SettingsError(code: .invalidTemplates, problems: problems) }
    return templates
  }

  /// The same for whoever goes on with those that are sound.
  package static func templatesAndProblems(
    _ settings: Settings
  ) -> (templates: [Template], problems: [SettingsFinding]) {
    templatesAndProblems(in: settings.templates.directory)
  }

  /// The same, of a directory.
  package static func templatesAndProblems(
    in directory: String
  ) -> (templates: [Template], problems: [SettingsFinding]) {
    let (sources, unreadable) = TemplateFile.readWhatCanBe(in: directory)
    var problems = unreadable
    var templates: [Template] = []
    for source in sources {
      do {
        templates.append(try Template.compile(source))
      } catch {
        problems += findings(error, file: source.file)
      }
    }
    return (templates, problems)
  }

  /// One template file: what `fanfare render` shows while somebody writes it.
  package static func template(file: String) throws(SettingsError) -> Template {
    let source = try TemplateFile.read(file: file)
    do {
      return try Template.compile(source)
    } catch {
      throw SettingsError(code: .invalidTemplates, problems: findings(error, file: file))
    }
  }

  private static func findings(_ error: RenderError, file: String) -> [SettingsFinding] {
    guard !error.problems.isEmpty else {
      return [SettingsFinding(.problem, place: file, key: nil, message: error.message)]
    }
    return error.problems.map { finding(.problem, $0) }
  }

  package static func finding(
    _ severity: SettingsFinding.Severity, _ problem: RenderError.Problem
  ) -> SettingsFinding {
    SettingsFinding(
      severity, place: "\(problem.file):\(problem.place.line):\(problem.place.column)", key: nil,
      message: problem.message)
  }
}
