extension SettingTable {
  static let apns: [SettingKey] = [
    .text(
      "apns.production.host", \.apns.production.host, default: "api.push.apple.com", .host,
      "For tokens of apps from the App Store and TestFlight."),
    .integer(
      "apns.production.port", \.apns.production.port, default: 443, 1...65_535, "443, or 2197."),
    .text(
      "apns.sandbox.host", \.apns.sandbox.host, default: "api.sandbox.push.apple.com", .host,
      "For tokens of apps run from Xcode."),
    .integer("apns.sandbox.port", \.apns.sandbox.port, default: 443, 1...65_535, "443, or 2197."),
    .path(
      "apns.ca_file", \.apns.caFile, example: "/etc/fanfare/simulator/ca.pem",
      "PEM certificates to trust instead of the system's, for a simulator."),
    .path(
      "apns.key_file", \.apns.keyFile, example: "/run/secrets/AuthKey_ABC123DEFG.p8",
      "The .p8 key from the Apple developer account. Needed to send, with key_id and team_id."),
    .text(
      "apns.key_id", \.apns.keyID, example: "ABC123DEFG", .appleIdentifier, "The key's id."),
    .text(
      "apns.team_id", \.apns.teamID, example: "DEF123GHIJ", .appleIdentifier,
      "The id of the team that the key belongs to."),
    .duration(
      "apns.token_lifetime", \.apns.tokenLifetime, default: minutes(50), minutes(20)...minutes(59),
      "When a new provider token is signed. Apple refuses more than one in 20 min, and "
        + "one older than an hour."),
    .integer(
      "apns.connections_per_lane", \.apns.connectionsPerLane, default: 2, 1...64,
      "Connections of a lane to each of the two servers."),
    .integer(
      "apns.streams_per_connection", \.apns.streamsPerConnection, default: 500, 1...10_000,
      "Pushes in flight on a connection, at most; the server's own limit is obeyed below "
        + "it. More costs memory and hardly speed."),
    .integer(
      "apns.ready_pushes_per_lane", \.apns.readyPushesPerLane, default: 1_024, 16...65_536,
      "Rendered pushes of an environment that wait for a free stream, up to 5 KiB each. The "
        + "events under way share them, those of one shard as many of their own; one that has "
        + "its share reads no further page."),
    .duration(
      "apns.request_timeout", \.apns.requestTimeout, default: .seconds(30),
      .seconds(1)...minutes(5),
      "A push unanswered for so long is given up on this connection and tried again on "
        + "another, a few times."),
    .duration(
      "apns.connect_timeout", \.apns.connectTimeout, default: .seconds(10),
      .milliseconds(100)...(.seconds(60)),
      "For the TCP connection and the TLS handshake together."),
    .duration(
      "apns.ping_interval", \.apns.pingInterval, default: minutes(60),
      minutes(1)...minutes(24 * 60),
      "A connection idle for so long is asked whether it lives. Apple advises about an hour."),
    .duration(
      "apns.retry.initial", \.apns.retry.initial, default: .milliseconds(200),
      .milliseconds(10)...minutes(15),
      "The first pause before a push is tried again after 429 or 5xx, or a connection after "
        + "it was lost; it doubles, with jitter, until the event expires."),
    .duration(
      "apns.retry.maximum", \.apns.retry.maximum, default: .seconds(30),
      .milliseconds(10)...minutes(15),
      "The longest pause. Apple's advice for 5xx is 15 min, by when most news is old."),
  ]

  static let lanes: [SettingKey] = [
    .integer(
      "lanes.count", \.lanes.count, default: 0, 0...256, "0 means one for each core."),
    .integer(
      "lanes.segments_per_lane", \.lanes.segmentsPerLane, default: 4, 1...64,
      "Segments with pushes never tried that a lane works on at a time."),
    .size(
      "lanes.batch_bytes", \.lanes.batchBytes, default: 64 << 20, (16 << 20)...(4 << 30),
      "What the rendered pushes of a lane may take in memory while they are under way; beyond it "
        + "each segment renders one batch at a time."),
    .duration(
      "lanes.straggle_after", \.lanes.straggleAfter, default: .seconds(2),
      .milliseconds(100)...(.seconds(60)),
      "When a segment has nothing left but pushes that wait for another try, they become "
        + "stragglers after this: a record of their own."),
    .duration(
      "lanes.straggle_delay", \.lanes.straggleDelay, default: .seconds(5),
      .milliseconds(100)...minutes(15),
      "How long stragglers rest before they are tried again."),
    .duration(
      "lanes.claim_lifetime", \.lanes.claimLifetime, default: .seconds(10),
      .seconds(2)...minutes(5),
      "What a crashed worker was sending is taken over after this. A living one renews its claims "
        + "three times as often."),
    .duration(
      "lanes.revoke_timeout", \.lanes.revokeTimeout, default: .seconds(5),
      .milliseconds(100)...(.seconds(30)),
      "How long a rebalance waits for what this worker has begun; "
        + "the rest is finished afterwards."),
    .duration(
      "lanes.drain_timeout", \.lanes.drainTimeout, default: .seconds(20), .seconds(1)...minutes(14),
      "How long a stopping worker finishes what it began. Must be less than half of "
        + "kafka.session_timeout, so that its partitions are still its own when it commits."),
  ]

  static let events: [SettingKey] = [
    .duration(
      "events.default_expires_in", \.events.defaultExpiresIn, default: minutes(15),
      .seconds(1)...minutes(30 * 24 * 60),
      "For events that do not say `expires_in`, from `occurred_at`. Past it nothing is sent."),
    .duration(
      "events.maximum_expires_in", \.events.maximumExpiresIn, default: minutes(30 * 24 * 60),
      .seconds(1)...minutes(30 * 24 * 60),
      "An event that asks for more is malformed. Apple stores a push for 30 d at most."),
    .duration(
      "events.cooldown", \.events.cooldown, default: .zero, .zero...minutes(24 * 60),
      "For so long after an event of a streamer, another one of the same app and template is not "
        + "sent: streams drop and come back. 0: each event is sent."),
  ]

  static let limits: [SettingKey] = [
    .integer(
      "limits.event", \.limits.event, default: 0, 0...PushLimitRule.maximum,
      "Pushes a second of each event; one that says `pushes_per_second` itself may have fewer. "
        + "0: no limit."),
    .map(
      "limits.apps", \.limits.apps, PushLimitRule.complaint,
      "Pushes a second of all events of an app, by bundle id: {com.example.app: 20000}."),
  ]

  static let worker: [SettingKey] = [
    .text(
      "worker.id", \.worker.id, example: "worker-1", .identifier,
      "Names this worker in Redis and logs; the host's name and the process id unless "
        + "set. Unique among the workers."),
    .duration(
      "worker.heartbeat_interval", \.worker.heartbeatInterval, default: .seconds(10),
      .seconds(1)...(.seconds(20)),
      "How often the worker says in Redis that it lives. It is forgotten after 60 s, so "
        + "three beats must fit."),
  ]

  static let probes: [SettingKey] = [
    .text(
      "probes.host", \.probes.host, default: "127.0.0.1", .host,
      "The address to listen on. Pods are asked from outside: 0.0.0.0 there."),
    .integer(
      "probes.port", \.probes.port, default: 0, 0...65_535,
      "/livez, /readyz?verbose, /startupz, and /metrics for Prometheus. 0 means none of them."),
  ]

  static let log: [SettingKey] = [
    .choice(
      "log.level", \.log.level, default: .info, "The least important lines that are written."),
    .choice(
      "log.format", \.log.format, default: .auto,
      "auto: text on a terminal, JSON lines otherwise."),
  ]

  private static func minutes(_ count: Int) -> Duration { .seconds(count * 60) }
}
