import Text

/// Rules over several keys.
struct SettingsRules {
  let settings: Settings
  let requirements: SettingsRequirements

  func check(_ layers: inout SettingsLayers) {
    checkKafka(&layers)
    checkRedis(&layers)
    checkAPNs(&layers)
    checkFCM(&layers)
    checkWebPush(&layers)
    checkTimes(&layers)
  }

  private func checkKafka(_ layers: inout SettingsLayers) {
    let security = settings.kafka.security
    let name = security.securityProtocol.rawValue
    let prefix = "kafka.security."
    let logsIn = security.securityProtocol.usesSASL
    // Where no mechanism is named nobody knows; most want one.
    let wantsPassword = logsIn && (security.mechanism?.usesPassword ?? true)
    let logIn: [(key: String, isSet: Bool, isUsed: Bool)] = [
      ("mechanism", security.mechanism != nil, logsIn),
      ("username", security.username != nil, wantsPassword),
      ("password", security.password != nil, wantsPassword),
    ]
    for (key, isSet, isUsed) in logIn where isSet != isUsed {
      guard isSet else {
        if layers.isFaulty(prefix + key) || layers.isFaulty(prefix + key + "_file") { continue }
        layers.add(
          .problem, layers.source(of: prefix + "protocol"), key: prefix + key,
          "is needed with kafka.security.protocol \(name)")
        continue
      }
      let (reason, hint) =
        logsIn
        ? ("mechanism \(security.mechanism?.rawValue ?? "")", "credentials are in kafka.properties")
        : ("protocol \(name)", "sasl_plaintext and sasl_ssl log in")
      layers.add(
        .warning, layers.source(of: prefix + key), key: prefix + key,
        "is not used with kafka.security.\(reason)", hint: hint)
    }
    let method = "sasl.oauthbearer.method"
    if logsIn, security.mechanism == .oauthBearer, settings.kafka.properties[method] != "oidc" {
      layers.add(
        .problem, layers.source(of: prefix + "mechanism"), key: prefix + "mechanism",
        "OAUTHBEARER needs a way to its tokens",
        hint: "set \(method): oidc in kafka.properties, and what belongs to it")
    }
    if security.caFile != nil && !security.securityProtocol.usesTLS {
      layers.add(
        .warning, layers.source(of: prefix + "ca_file"), key: prefix + "ca_file",
        "is not used with kafka.security.protocol \(name)", hint: "ssl and sasl_ssl encrypt")
    }
    // The process that sends is the one that joins the group.
    if settings.kafka.staticMembership, requirements.contains(.credentials),
      layers.source(of: "worker.id") == .builtIn
    {
      let key = "kafka.static_membership"
      layers.add(
        .problem, layers.source(of: key), key: key,
        "needs a worker.id that is the same after a restart",
        hint: "the pod's name in a StatefulSet, for instance")
    }
    checkTopics(&layers)
  }

  private func checkTopics(_ layers: inout SettingsLayers) {
    let topics = settings.kafka.topics
    let named =
      [
        ("kafka.topics.events", topics.events), ("kafka.topics.segments", topics.segments),
        ("kafka.topics.bulk_segments", topics.bulkSegments),
        ("kafka.topics.stragglers", topics.stragglers),
        ("kafka.topics.dead_letters", topics.deadLetters),
      ] + (topics.tokens.map { [("kafka.topics.tokens", $0)] } ?? [])
      + (topics.outcomes.map { [("kafka.topics.outcomes", $0)] } ?? [])
    for (index, (key, topic)) in named.enumerated() {
      guard let other = named[..<index].first(where: { $0.1 == topic }) else { continue }
      layers.add(
        .problem, later(key, other.0, layers), key: key,
        "must differ from \(other.0), both are \(topic)")
    }
    if topics.outcomes == nil, settings.outcomes.recipients != .none {
      let key = "outcomes.recipients"
      layers.add(
        .problem, layers.source(of: key), key: key, "needs a topic to write to",
        hint: "set kafka.topics.outcomes")
    }
  }

  private func checkRedis(_ layers: inout SettingsLayers) {
    let redis = settings.redis
    if redis.prefix.data.hasPrefix(redis.prefix.dashboards) {
      let keys = ("redis.prefix.data", "redis.prefix.dashboards")
      layers.add(
        .problem, later(keys.0, keys.1, layers), key: keys.0,
        "must not begin with \(keys.1): a dashboard's ACL user could read device tokens",
        hint: "the defaults are ffd: and ff:")
    }
    check(redis.tls, "redis.tls.", &layers)
    let sentinels = redis.sentinel.tls
    check(
      Settings.Redis.TLS(
        enabled: redis.tlsOfSentinels.enabled, caFile: sentinels.caFile,
        certificateFile: sentinels.certificateFile, keyFile: sentinels.keyFile),
      "redis.sentinel.tls.", &layers)
    if redis.sentinel.username != nil, redis.sentinel.password == nil,
      !layers.isFaulty("redis.sentinel.password_file")
    {
      let key = "redis.sentinel.username"
      layers.add(
        .problem, layers.source(of: key), key: key,
        "needs redis.sentinel.password or redis.sentinel.password_file")
    }
    if redis.username != nil && redis.password == nil, !layers.isFaulty("redis.password_file") {
      layers.add(
        .problem, layers.source(of: "redis.username"), key: "redis.username",
        "needs redis.password or redis.password_file")
    }
    checkServers(&layers)
  }

  /// - Parameter tls: the files that are set under this very prefix.
  private func check(_ tls: Settings.Redis.TLS, _ prefix: String, _ layers: inout SettingsLayers) {
    let files = [
      ("ca_file", tls.caFile), ("certificate_file", tls.certificateFile), ("key_file", tls.keyFile),
    ]
    for (name, path) in files where path != nil && !tls.enabled {
      layers.add(
        .warning, layers.source(of: prefix + name), key: prefix + name,
        "is not used while \(prefix)enabled is false")
    }
    if tls.keyFile != nil && tls.certificateFile == nil {
      layers.add(
        .problem, layers.source(of: prefix + "key_file"), key: prefix + "key_file",
        "needs \(prefix)certificate_file")
    }
  }

  /// There is one Redis, or a cluster, or sentinels say which one.
  private func checkServers(_ layers: inout SettingsLayers) {
    let redis = settings.redis
    let (cluster, sentinels) = ("redis.cluster", "redis.sentinel.nodes")
    if !redis.cluster.isEmpty, !redis.sentinel.nodes.isEmpty {
      layers.add(
        .problem, later(cluster, sentinels, layers), key: sentinels,
        "does not go with \(cluster): a Redis Cluster watches itself")
    }
    if !redis.cluster.isEmpty, redis.database != 0 {
      layers.add(
        .problem, later("redis.database", cluster, layers), key: "redis.database",
        "must be 0 with redis.cluster: a Redis Cluster has no other")
    }
    // The values of the example file need no warning.
    let usual = Settings.defaults.redis
    let direct = [
      ("redis.host", redis.host != usual.host), ("redis.port", redis.port != usual.port),
    ]
    let others = [(sentinels, redis.sentinel.nodes), (cluster, redis.cluster)]
    if let other = others.first(where: { !$0.1.isEmpty })?.0 {
      for (key, isSet) in direct where isSet {
        layers.add(.warning, layers.source(of: key), key: key, "is not used with \(other)")
      }
    }
    if redis.sentinel.nodes.isEmpty, redis.sentinel.password != nil {
      let key = "redis.sentinel.password"
      layers.add(.warning, layers.source(of: key), key: key, "is not used without \(sentinels)")
    }
  }

  /// - Parameter group: `apns.proxy`.
  private func check(_ proxy: Settings.Proxy, _ group: String, _ layers: inout SettingsLayers) {
    let (host, username, password) = ("\(group).host", "\(group).username", "\(group).password")
    let keys = [
      (username, proxy.username != nil, host, proxy.host != nil),
      (password, proxy.password != nil, username, proxy.username != nil),
    ]
    for (key, isSet, other, isOtherSet) in keys where isSet && !isOtherSet {
      layers.add(.warning, layers.source(of: key), key: key, "is not used without \(other)")
    }
    if proxy.username?.contains(":") == true {
      layers.add(
        .problem, layers.source(of: username), key: username,
        "must not hold a colon: Basic credentials end the name with it")
    }
  }

  /// Apple's servers of one environment take every token of the other for a bad one.
  private func checkHosts(_ layers: inout SettingsLayers) {
    let servers = [("production", settings.apns.production), ("sandbox", settings.apns.sandbox)]
    for (environment, server) in servers {
      let hosts = [
        ("host", server.host), ("broadcast_host", server.broadcast.host),
        ("channels_host", server.channels.host),
      ]
      for (field, host) in hosts {
        let labels = host.lowercased().split(separator: ".")
        guard labels.suffix(3) == ["push", "apple", "com"] else { continue }
        // The older name of the sandbox is Apple's still.
        let isSandbox = labels.contains("sandbox") || labels.contains("development")
        guard isSandbox != (environment == "sandbox") else { continue }
        let key = "apns.\(environment).\(field)"
        layers.add(
          .warning, layers.source(of: key), key: key,
          "is \(host), which is Apple's \(isSandbox ? "sandbox" : "production")",
          hint: "it takes every token of the other environment for a bad one")
      }
    }
  }

  private func checkAPNs(_ layers: inout SettingsLayers) {
    check(settings.apns.proxy, "apns.proxy", &layers)
    checkHosts(&layers)
    let (apns, usual) = (settings.apns, Settings.defaults.apns)
    checkConnections(
      of: "apns", least: apns.connectionsPerLane, most: apns.connectionsPerLaneMaximum,
      usualMost: usual.connectionsPerLaneMaximum, &layers)
    let apps = settings.apns.apps
    for (app, credentials) in apps.sorted(by: { $0.key < $1.key }) {
      CredentialRules(credentials, of: app).check(&layers, areNeeded: true)
    }
    CredentialRules(settings.apns.credentials).check(
      &layers,
      areNeeded: requirements.contains(.credentials) && apps.isEmpty
        && !settings.sendsElsewhere)
  }

  private func checkFCM(_ layers: inout SettingsLayers) {
    let fcm = settings.fcm
    check(fcm.proxy, "fcm.proxy", &layers)
    checkConnections(
      of: "fcm", least: fcm.connectionsPerLane, most: fcm.connectionsPerLaneMaximum,
      usualMost: Settings.defaults.fcm.connectionsPerLaneMaximum, &layers)
    FCMAccountRules(fcm.account).check(&layers)
    for (app, account) in fcm.apps.sorted(by: { $0.key < $1.key }) {
      FCMAccountRules(account, of: app).check(&layers)
    }
  }

  private func checkWebPush(_ layers: inout SettingsLayers) {
    let webpush = settings.webpush
    check(webpush.proxy, "webpush.proxy", &layers)
    checkConnections(
      of: "webpush", least: webpush.connectionsPerLane, most: webpush.connectionsPerLaneMaximum,
      usualMost: Settings.defaults.webpush.connectionsPerLaneMaximum, &layers)
    if webpush.isConfigured, webpush.subject == nil {
      layers.add(
        .problem, layers.source(of: "webpush.vapid_key_file"), key: "webpush.vapid_key_file",
        "needs webpush.subject: push services want to know whom they may turn to")
    }
    if webpush.formerVAPIDKeys[webpush.vapidKeyID] != nil {
      let key = "webpush.former_vapid_keys"
      layers.add(
        .problem, layers.source(of: key), key: key,
        "has the id of the current pair (webpush.vapid_key_id)")
    }
  }

  /// - Parameter usualMost: the default, which needs no warning.
  private func checkConnections(
    of group: String, least: Int, most: Int, usualMost: Int, _ layers: inout SettingsLayers
  ) {
    guard most < least, most != usualMost else { return }
    let keys = ("\(group).connections_per_lane_maximum", "\(group).connections_per_lane")
    layers.add(
      .problem, later(keys.0, keys.1, layers), key: keys.0,
      "is \(most), must not be less than \(keys.1) (\(least))")
  }

  private func checkTimes(_ layers: inout SettingsLayers) {
    let drain = settings.lanes.drainTimeout
    let silence = settings.apns.binaryAcceptedAfter
    let isBinary = [settings.apns.production, settings.apns.sandbox].contains {
      $0.interface == .binary
    }
    if isBinary, silence >= drain / 2 {
      let place = later("apns.binary_accepted_after", "lanes.drain_timeout", layers)
      layers.add(
        .problem, place, key: "apns.binary_accepted_after",
        "is \(DurationText.text(silence)), must be less than half of lanes.drain_timeout "
          + "(\(DurationText.text(drain)))",
        hint: "so that a stopping worker hears the gateway out, and sends nothing twice")
    }
    let ordered: [(less: String, Duration, more: String, Duration)] = [
      (
        "redis.reconnect_minimum", settings.redis.reconnectMinimum, "redis.reconnect_maximum",
        settings.redis.reconnectMaximum
      ),
      (
        "apns.retry.initial", settings.apns.retry.initial, "apns.retry.maximum",
        settings.apns.retry.maximum
      ),
      (
        "events.default_expires_in", settings.events.defaultExpiresIn, "events.maximum_expires_in",
        settings.events.maximumExpiresIn
      ),
    ]
    for (less, lower, more, upper) in ordered where lower > upper {
      layers.add(
        .problem, later(less, more, layers), key: less,
        "is \(DurationText.text(lower)), must not be more than \(more) "
          + "(\(DurationText.text(upper)))"
      )
    }
  }

  /// Of two keys that do not go together, the one that was set last is where to look.
  private func later(_ one: String, _ other: String, _ layers: SettingsLayers) -> SettingSource {
    let sources = (layers.source(of: one), layers.source(of: other))
    return sources.1.rank > sources.0.rank ? sources.1 : sources.0
  }
}
