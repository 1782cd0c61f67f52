import Testing

@testable import Kafka

@Suite struct AdminTests {
  /// Each is taken by itself, and no client is made of it.
  @Test(arguments: [("retries", "0"), ("max.in.flight", "10"), ("session.timeout.ms", "4000000")])
  func whatMakesNoClientIsToldBeforeAWorkerStarts(name: String, value: String) throws {
    var options = options("127.0.0.1:1")
    try KafkaAdmin(options, log: silent).checkClients()
    options.properties[name] = value
    let flaw = #expect(throws: KafkaError.self) {
      try KafkaAdmin(options, log: silent).checkClients()
    }
    #expect(flaw?.code == .configuration)
  }

  @Test func knowsTopicsAndPartitions() throws {
    let broker = try EmbeddedBroker(topics: [("one", 1), ("four", 4)])
    let info = try KafkaAdmin(options(broker.bootstrapServers), log: silent)
      .metadata(topics: ["one", "four", "none"], timeout: .seconds(5))
    #expect(info.partitions == ["one": 1, "four": 4])
    #expect(info.brokers == [broker.bootstrapServers])
    #expect(info.failures.isEmpty)
    // Asking did not create the missing one.
    let again = try KafkaAdmin(options(broker.bootstrapServers), log: silent)
      .metadata(topics: ["none"], timeout: .seconds(5))
    #expect(again.partitions.isEmpty)
  }

  /// Its client would wait until the time is over: it names a controller that it does not have.
  @Test func theEmbeddedBrokerRefusesWhatItDoesNotDo() throws {
    let broker = try EmbeddedBroker(topics: [("one", 1)])
    let admin = KafkaAdmin(options(broker.bootstrapServers), log: silent)
    for question in [
      { _ = try admin.configuration(ofTopics: ["one"], timeout: .seconds(20)) },
      {
        _ = try admin.create(
          [KafkaTopic("two", partitions: 1, replicas: 1)], timeout: .seconds(20))
      },
    ] {
      let error = #expect(throws: KafkaError.self) { try question() }
      #expect(error?.code == .unsupported)
      #expect(error?.message.contains("the embedded broker takes no such request") == true)
    }
  }

  @Test func saysWhyNobodyAnswers() throws {
    let port = try unusedPort()
    let admin = KafkaAdmin(options("127.0.0.1:\(port)"), log: silent)
    let error = #expect(throws: KafkaError.self) {
      try admin.metadata(topics: ["t"], timeout: .milliseconds(500))
    }
    #expect(error?.code == .unreachable)
    #expect(error?.description.contains("check the bootstrap servers") == true)
    #expect(error?.cause.contains("127.0.0.1:\(port)") == true)
  }

  @Test func namesItsVersion() {
    #expect(KafkaVersion.string.split(separator: ".").count >= 3)
  }
}

@Suite struct ConfigurationTests {
  /// The promises rest on these.
  @Test func consumersAreSetAsThePromisesWant() throws {
    var options = KafkaOptions(bootstrapServers: "127.0.0.1:1")
    for (session, given, heartbeat) in [(45, 1, "1000"), (45, 3, "3000"), (6, 3, "2000")] {
      options.sessionTimeout = .seconds(session)
      options.heartbeatInterval = .seconds(given)
      var configuration = try KafkaConfiguration(options)
      try configuration.setConsumer(options)
      let expected = [
        "enable.auto.commit": "false", "enable.auto.offset.store": "false",
        "auto.offset.reset": "smallest", "allow.auto.create.topics": "false",
        "partition.assignment.strategy": "range,roundrobin", "heartbeat.interval.ms": heartbeat,
        "session.timeout.ms": "\(session)000", "max.poll.interval.ms": "60000",
        "isolation.level": "read_committed",
      ]
      for (name, value) in expected {
        #expect(configuration.value(of: name) == value, "\(name)")
      }
    }
  }

  @Test(arguments: [nil, "w-1"]) func whoIsStaticHasAName(_ name: String?) throws {
    var options = KafkaOptions(bootstrapServers: "127.0.0.1:1")
    options.staticMember = name
    var configuration = try KafkaConfiguration(options)
    try configuration.setConsumer(options)
    #expect(configuration.value(of: "group.instance.id") ?? "" == name ?? "")
  }

  @Test func producersAreSetAsThePromisesWant() throws {
    let options = KafkaOptions(bootstrapServers: "127.0.0.1:1")
    var configuration = try KafkaConfiguration(options)
    try configuration.setProducer(options)
    let expected = [
      "enable.idempotence": "true", "acks": "-1", "partitioner": "murmur2_random",
      "message.timeout.ms": "30000",
    ]
    for (name, value) in expected { #expect(configuration.value(of: name) == value, "\(name)") }
  }

  @Test func namesARefusedPropertyAndHidesSecrets() throws {
    var options = options("127.0.0.1:1")
    options.properties = ["no.such.property": "x"]
    var error = #expect(throws: KafkaError.self) { try KafkaProducer(options, log: silent) }
    #expect(error?.description.contains("no.such.property") == true)
    options.securityProtocol = .tls
    options.properties = ["ssl.key.pem": "canary-3141"]
    error = #expect(throws: KafkaError.self) { try KafkaProducer(options, log: silent) }
    #expect(error?.description.contains("canary") == false)
    options.securityProtocol = .plaintext
    options.properties = ["socket.timeout.ms": "never"]
    error = #expect(throws: KafkaError.self) { try KafkaProducer(options, log: silent) }
    #expect(error?.code == .configuration)
  }

  /// A broker that is not there yet is waited for; one that refuses the login is not.
  @Test func onlyARefusedLoginEndsTheWait() {
    let state = AdminState(log: silent)
    state.errors = [KafkaError(code: .unreachable, message: "no broker")]
    #expect(!state.isRefused)
    state.errors.append(KafkaError(code: .authentication, message: "wrong password"))
    #expect(state.isRefused)
  }

  @Test func passesOtherPropertiesOn() throws {
    var options = options("127.0.0.1:1")
    options.properties = ["socket.keepalive.enable": "true", "compression.type": "lz4"]
    try KafkaProducer(options, log: silent).close(timeout: .zero)
  }

  @Test func tellsAUserOfScramWhatIsWrong() {
    let numbers = KafkaVersion.string.split { !$0.isNumber }.compactMap { Int($0) }
    #expect(numbers.count >= 3)
    #expect(KafkaVersion.scramFailsWithKafka4 == numbers.lexicographicallyPrecedes([2, 6, 1]))
  }
}
