import CRdKafka

/// A set of librdkafka properties until a client takes it over.
struct KafkaConfiguration: ~Copyable {
  private var handle: OpaquePointer?

  init(_ options: KafkaOptions) throws(KafkaError) {
    handle = rd_kafka_conf_new()
    try set("bootstrap.servers", options.bootstrapServers)
    try set("client.id", options.clientID)
    try set("security.protocol", options.securityProtocol.rawValue)
    if let mechanism = options.saslMechanism { try set("sasl.mechanism", mechanism) }
    if let username = options.username { try set("sasl.username", username) }
    if let password = options.password { try set("sasl.password", password) }
    if let caFile = options.caFile { try set("ssl.ca.location", caFile) }
    try set("statistics.interval.ms", "0")
    try set("socket.nagle.disable", "true")
    // Brokers close idle connections; that is no news.
    try set("log.connection.close", "false")
    // Ten seconds, the default, is a long time to notice that Kafka is back.
    try set("reconnect.backoff.max.ms", "2000")
  }

  deinit {
    if let handle { rd_kafka_conf_destroy(handle) }
  }

  mutating func setConsumer(_ options: KafkaOptions) throws(KafkaError) {
    let session = options.sessionTimeout.wholeMilliseconds
    let readAheadKilobytes = max(options.readAheadBytes / 1024, 64)
    try set("group.id", options.group)
    if let member = options.staticMember { try set("group.instance.id", member) }
    try set("enable.auto.commit", "false")
    try set("enable.auto.offset.store", "false")
    try set("auto.offset.reset", "earliest")
    // The end of a partition may be no record: control records of transactions have offsets, too.
    try set("enable.partition.eof", "true")
    // Topics and partitions that are made later are noticed soon, not within five minutes.
    try set("topic.metadata.refresh.interval.ms", "10000")
    try set("partition.assignment.strategy", "range,roundrobin")
    try set("allow.auto.create.topics", "false")
    try set("fetch.wait.max.ms", "\(options.fetchWaitMaximum.wholeMilliseconds)")
    try set("session.timeout.ms", "\(session)")
    // How long a rebalance may go unnoticed; a third of a short session, so that two may be lost.
    let heartbeat = min(options.heartbeatInterval.wholeMilliseconds, session / 3)
    try set("heartbeat.interval.ms", "\(max(heartbeat, 1))")
    try set(
      "max.poll.interval.ms", "\(max(options.pollIntervalMaximum.wholeMilliseconds, session))")
    try set("queued.max.messages.kbytes", "\(readAheadKilobytes)")
    try set("queued.min.messages", "1000")
    try set("statistics.interval.ms", "\(options.reachabilityInterval.wholeMilliseconds)")
    // One answer is held in memory besides the read-ahead; not below message.max.bytes (1,000,000).
    try set("fetch.max.bytes", "\(max(readAheadKilobytes * 1024 / 2, 1_048_576))")
    try setAll(options.properties)
  }

  mutating func setProducer(_ options: KafkaOptions) throws(KafkaError) {
    if options.producersWatchBrokers {
      try set("statistics.interval.ms", "\(options.reachabilityInterval.wholeMilliseconds)")
      // A producer with nothing to send must hear from brokers all the same.
      try set("topic.metadata.refresh.interval.ms", "10000")
    }
    try set("enable.idempotence", "true")
    try set("acks", "all")
    try set("linger.ms", "\(options.linger.wholeMilliseconds)")
    try set("message.timeout.ms", "\(max(options.messageTimeout.wholeMilliseconds, 1))")
    try set("message.max.bytes", "\(options.maximumMessageBytes)")
    // `SendGate` bounds both below these. librdkafka still counts a record while it is being
    // reported, hence the room.
    try set("queue.buffering.max.messages", "\(options.maximumInFlight + 1000)")
    try set("queue.buffering.max.kbytes", "2097151")
    // As Kafka's own clients place keys.
    try set("partitioner", "murmur2_random")
    try setAll(options.properties)
  }

  mutating func setAll(_ properties: [String: String]) throws(KafkaError) {
    for (name, value) in properties.sorted(by: { $0.key < $1.key }) {
      try set(name, value)
    }
  }

  mutating func set(_ name: String, _ value: String) throws(KafkaError) {
    var text = [CChar](repeating: 0, count: 512)
    let result = rd_kafka_conf_set(handle, name, value, &text, text.count)
    guard result != RD_KAFKA_CONF_OK else { return }
    throw KafkaError(
      code: .configuration, message: "Kafka property \(name) is refused; correct its value",
      cause: Self.cause(String(nulTerminated: text), of: name))
  }

  /// librdkafka's value of a property now: for tests of our settings.
  mutating func value(of name: String) -> String? {
    var text = [CChar](repeating: 0, count: 512)
    var size = text.count
    guard rd_kafka_conf_get(handle, name, &text, &size) == RD_KAFKA_CONF_OK else { return nil }
    return String(nulTerminated: text)
  }

  /// Makes the client, which takes the properties over. It retains `state`, which its callbacks
  /// use, once: `CallbackState.release` balances that when the client is destroyed.
  consuming func makeClient(
    _ type: rd_kafka_type_t, _ state: CallbackState
  ) throws(KafkaError) -> OpaquePointer {
    var text = [CChar](repeating: 0, count: 512)
    state.setCallbacks(handle)
    state.retain()
    guard let client = rd_kafka_new(type, handle, &text, text.count) else {
      state.release()
      throw KafkaError(
        code: .configuration,
        message: "the Kafka client cannot be made; correct the settings that the cause names",
        cause: String(nulTerminated: text))
    }
    handle = nil
    return client
  }

  /// librdkafka quotes the value, which may be a secret, unless it does not know the property.
  private static func cause(_ text: String, of name: String) -> String {
    let isOfTheName = text.contains("not supported in this build") || text.hasPrefix("No such")
    return mayBeSecret(name) && !isOfTheName ? "the value is not shown" : text
  }

  private static func mayBeSecret(_ name: String) -> Bool {
    ["password", "secret", "pem", "oauth", "jaas", "key"].contains { name.contains($0) }
  }
}

extension String {
  /// The text up to the first NUL, invalid UTF-8 repaired: what librdkafka passes on may come
  /// from outside.
  init(nulTerminated buffer: [CChar]) {
    let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    self.init(decoding: bytes, as: UTF8.self)
  }
}
