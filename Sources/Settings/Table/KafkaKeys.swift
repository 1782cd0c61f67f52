import Text

extension SettingTable {
  static let kafka: [SettingKey] = [
    .list(
      "kafka.bootstrap_servers", \.kafka.bootstrapServers, default: ["127.0.0.1:9092"],
      .hostAndPort,
      "The first brokers to contact; the client learns the others from them."),
    .text(
      "kafka.group", \.kafka.group, default: "fanfare", .identifier,
      "The consumer group. Workers of one group share the work."),
    .bool(
      "kafka.static_membership", \.kafka.staticMembership, default: false,
      "A worker keeps its partitions during a restart if it comes back under the same worker.id "
        + "within session_timeout, and the others notice nothing. Make session_timeout longer than "
        + "a restart. A worker that does not come back also keeps its partitions for that time, "
        + "even after a normal stop."),
    .text(
      "kafka.client_id", \.kafka.clientID, default: "fanfare", .identifier,
      "The name of this client in the brokers' logs and quotas."),
    .text(
      "kafka.topics.events", \.kafka.topics.events, default: "notify-followers", .topic,
      "The events that the backend writes."),
    .text(
      "kafka.topics.segments", \.kafka.topics.segments, default: "notify-followers.segments",
      .topic,
      "Segments of large events. Workers divide the partitions of this topic among them."),
    .text(
      "kafka.topics.bulk_segments", \.kafka.topics.bulkSegments,
      default: "notify-followers.segments.bulk", .topic,
      "Segments of events that have more than 64, so that other events do not wait behind them."),
    .text(
      "kafka.topics.dead_letters", \.kafka.topics.deadLetters,
      default: "notify-followers.dead-letters", .topic,
      "Records that could not be processed, unchanged, with headers that give the reason."),
    .text(
      "kafka.topics.stragglers", \.kafka.topics.stragglers,
      default: "notify-followers.stragglers", .topic,
      "Pushes that wait for another try, so that their segments can finish without them."),
    .text(
      "kafka.topics.tokens", \.kafka.topics.tokens, example: "notify-followers.tokens", .topic,
      "News of tokens that were removed, set aside, moved or restored without a request of their "
        + "user, for a backend that stores devices too. Without this topic no news is written."),
    .text(
      "kafka.topics.outcomes", \.kafka.topics.outcomes, example: "notify-followers.outcomes",
      .topic,
      "What became of each fan-out, and with outcomes.recipients of single pushes, for the "
        + "backend's own analytics. Without this topic no outcomes are written."),
    .choice(
      "kafka.security.protocol", \.kafka.security.securityProtocol, default: .plaintext,
      "The protocol of the brokers. With TLS, their certificate and host name are always checked."),
    .choice(
      "kafka.security.mechanism", \.kafka.security.mechanism, example: .scramSHA512,
      "How to log in; needed with sasl_plaintext and sasl_ssl. For GSSAPI (Kerberos) and "
        + "OAUTHBEARER (OpenID Connect), put the credentials in kafka.properties: sasl.kerberos.…, "
        + "sasl.oauthbearer.…."),
    .text(
      "kafka.security.username", \.kafka.security.username, example: "fanfare", .any,
      "Needed with PLAIN and SCRAM."),
    .secret(
      "kafka.security.password", \.kafka.security.password,
      "Needed with PLAIN and SCRAM. It is safer in a file: see password_file."),
    .secretFile(
      "kafka.security.password_file", of: "kafka.security.password",
      example: "/run/secrets/kafka-password", "A file that holds the password, up to 4 KiB."),
    .path(
      "kafka.security.ca_file", \.kafka.security.caFile, example: "/etc/fanfare/kafka-ca.pem",
      "PEM certificates to trust instead of the system's."),
    .duration(
      "kafka.fetch_wait_maximum", \.kafka.fetchWaitMaximum, default: .milliseconds(100),
      .milliseconds(1)...(.seconds(5)),
      "How long a broker holds a fetch open when there is nothing to read. A new event ends the "
        + "fetch at once, so a longer time saves nothing."),
    .duration(
      "kafka.session_timeout", \.kafka.sessionTimeout, default: .seconds(6),
      .seconds(6)...(.seconds(30 * 60)),
      "A worker that is silent for this long loses its partitions to the others. Until then the "
        + "group waits for a worker that was killed, or that Kafka remembers from before an "
        + "outage. Brokers accept 6 s to 30 min (group.min/max.session.timeout.ms)."),
    .duration(
      "kafka.heartbeat_interval", \.kafka.heartbeatInterval, default: .seconds(1),
      .milliseconds(100)...(.seconds(60)),
      "How long the group may wait until this worker notices a rebalance. At most a third of "
        + "session_timeout is used."),
    .size(
      "kafka.maximum_event_bytes", \.kafka.maximumEventBytes, default: 64 << 10,
      (1 << 10)...(1 << 20),
      "A larger event goes to the dead letters without being parsed. Brokers accept 1 MiB for each "
        + "record, and a segment contains its event."),
    .map(
      "kafka.properties", \.kafka.properties, KafkaProperties.complaint,
      "Other properties of librdkafka, under its own names. Properties that have a key here, or "
        + "that the delivery guarantee depends on, are refused."),
  ]
}

/// Which of librdkafka's properties may be passed through.
enum KafkaProperties {
  static func complaint(name: String, value: String) -> SettingComplaint? {
    if let key = keys[name] {
      return SettingComplaint("`\(name)` has a key of its own", hint: "set \(key) instead")
    }
    if let reason = owned[name] { return SettingComplaint("`\(name)` cannot be set: \(reason)") }
    let isName = name.utf8.allSatisfy { byte in
      byte.isASCIILower || byte.isASCIIDigit || byte == 0x2E || byte == 0x5F
    }
    guard isName, !name.isEmpty, name.utf8.count <= 128 else {
      return SettingComplaint(
        "\(Shown.value(name)) is not a property of librdkafka",
        hint: "names look like `socket.keepalive.enable`")
    }
    if name == "partition.assignment.strategy" && value.contains("cooperative") {
      return SettingComplaint(
        "`\(name)` cannot be cooperative: "
          + "librdkafka before 2.10 crashes, hangs and loses assignments with it",
        hint: "use range or roundrobin, or leave it out")
    }
    if name == "ssl.endpoint.identification.algorithm" && value != "https" {
      return SettingComplaint("`\(name)` cannot be switched off: the host name is always checked")
    }
    // Secrets may be long and may have line breaks (PEM); other values have no use for either.
    let hasControl = value.utf8.contains { $0 < 0x20 || $0 == 0x7F }
    if hasControl && !isSecret(name) {
      return SettingComplaint("`\(name)` holds a control character, such as a line break")
    }
    return value.contains("\0") || value.utf8.count > 16_384
      ? SettingComplaint("`\(name)` holds a NUL or more than 16 KiB") : nil
  }

  /// Whether an entry of a mapping must not be shown. Records name files, and hold no secrets.
  static func isSecret(_ name: String, _ kind: SettingKind) -> Bool {
    if case .map = kind { isSecret(name) } else { false }
  }

  /// Whether a property's value must not be shown.
  static func isSecret(_ name: String) -> Bool {
    ["password", "secret", "pem", "jaas", "token", "sasl.oauthbearer.config"].contains {
      name.contains($0)
    }
  }

  static let keys: [String: String] = [
    "group.id": "kafka.group", "group.instance.id": "kafka.static_membership",
    "client.id": "kafka.client_id",
    "bootstrap.servers": "kafka.bootstrap_servers",
    "metadata.broker.list": "kafka.bootstrap_servers",
    "security.protocol": "kafka.security.protocol", "sasl.mechanism": "kafka.security.mechanism",
    "sasl.mechanisms": "kafka.security.mechanism", "sasl.username": "kafka.security.username",
    "sasl.password": "kafka.security.password_file", "ssl.ca.location": "kafka.security.ca_file",
    "fetch.wait.max.ms": "kafka.fetch_wait_maximum", "session.timeout.ms": "kafka.session_timeout",
    "heartbeat.interval.ms": "kafka.heartbeat_interval",
  ]

  /// Why each may not be set. The promises of a worker rest on them, or its bound of memory.
  static let owned: [String: String] = [
    "enable.sasl.oauthbearer.unsecure.jwt":
      "librdkafka crashes when it renews a token that nobody signs",
    "enable.auto.commit": "an offset is committed only when its segment is settled and recorded",
    "auto.commit.enable": "an offset is committed only when its segment is settled and recorded",
    "enable.auto.offset.store":
      "an offset is committed only when its segment is settled and recorded",
    "auto.offset.reset": "a group without offsets begins with the oldest event, or it loses some",
    "topic.auto.offset.reset": "a group without offsets begins with the oldest event",
    "ssl.engine.location": "no foreign code is loaded into the worker",
    "ssl.providers": "no foreign code is loaded into the worker",
    "ssl.engine.id": "no foreign code is loaded into the worker",
    "delivery.report.only.error": "a record that was written would never be reported",
    "transactional.id": "records are written outside of transactions",
    "isolation.level": "events of aborted transactions are never read",
    "partitioner": "segments are spread by their keys",
    "message.timeout.ms": "how long a record may take is the worker's to decide",
    "delivery.timeout.ms": "how long a record may take is the worker's to decide",
    "topic.blacklist": "a worker reads all of its topics",
    "queued.max.messages.kbytes": "what is read ahead is part of a worker's bound of memory",
    "fetch.max.bytes": "what is read ahead is part of a worker's bound of memory",
    "queue.buffering.max.messages": "the worker bounds what it writes at a time",
    "queue.buffering.max.kbytes": "the worker bounds what it writes at a time",
    "allow.auto.create.topics": "a mistyped topic must not come into being",
    "enable.partition.eof": "the worker commits the end of a partition",
    "statistics.interval.ms": "the statistics say whether a broker can be reached",
    "enable.idempotence": "segments and dead letters are written once, in order",
    "acks": "segments and dead letters are written to all in-sync replicas",
    "request.required.acks": "segments and dead letters are written to all in-sync replicas",
    "enable.ssl.certificate.verification": "brokers' certificates are always checked",
    "plugin.library.paths": "no foreign code is loaded into the worker",
    "opaque": "it is a pointer of this program's",
    "interceptors": "it is a pointer of this program's",
    "default_topic_conf": "it is a pointer of this program's",
    "dr_cb": "it is a pointer of this program's",
    "dr_msg_cb": "it is a pointer of this program's",
    "log.queue": "log lines are passed on as they come",
    "test.mock.num.brokers": "the embedded broker has a command of its own",
  ]
}
