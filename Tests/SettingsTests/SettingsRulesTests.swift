import Glibc
import Testing

@testable import Settings

@Suite struct SettingsRulesTests {
  /// A stopping worker beats on: how long it drains has nothing to do with its session.
  @Test func drainingMayTakeLongerThanASession() throws {
    try expectFindings("lanes: {drain_timeout: 5m}\nkafka: {session_timeout: 6s}\n", [])
  }

  /// What passes from the death of a worker until the others go on is the sum of these.
  @Test func theOthersGoOnWithinTwelveSeconds() {
    let defaults = Settings.defaults
    let sum =
      defaults.kafka.sessionTimeout + defaults.kafka.heartbeatInterval
      + defaults.lanes.revokeTimeout
    #expect(sum <= .seconds(12))
  }

  @Test func aWorkerThatStopsHearsALegacyGatewayOut() throws {
    try expectFindings(
      "apns: {sandbox: {interface: binary}, binary_accepted_after: 10s}\n",
      [
        "fanfare.yaml:1:61: apns.binary_accepted_after: is 10s, must be less than half of "
          + "lanes.drain_timeout (20s) (so that a stopping worker hears the gateway out, and sends "
          + "nothing twice)"
      ])
    try expectFindings("apns: {sandbox: {interface: binary}, binary_accepted_after: 9s}\n", [])
    try expectFindings("apns: {binary_accepted_after: 10s}\n", [])
  }

  @Test(arguments: [("0%", 0), ("1%", 0.01), ("0.25%", 0.0025), ("100%", 1)])
  func sharesArePercentages(_ text: String, _ share: Double) { #expect(Share.parse(text) == share) }

  @Test func outcomesOfPushesNeedATopic() throws {
    let findings = try SettingsFixture("outcomes: {recipients: all}\n").findings()
    #expect(findings.contains { $0.contains("outcomes.recipients: needs a topic") })
    try expectFindings(
      "outcomes: {recipients: all}\nkafka: {topics: {outcomes: t}}\n", [])
  }

  @Test(arguments: ["", "%", "1", "101%", "-1%", "1 %", "0x1%", "1e1%", ".5%", "1.2.3%", "nan%"])
  func whatIsNoShareIsRefused(_ text: String) throws {
    #expect(Share.parse(text) == nil)
    let findings = try SettingsFixture("traces: {sample: \"\(text)\"}\n").findings()
    #expect(findings.contains { $0.contains("traces.sample") })
  }

  @Test(arguments: [
    ("redis: {reconnect_minimum: 6s}", "redis.reconnect_minimum"),
    ("redis: {reconnect_maximum: 50ms}", "redis.reconnect_minimum"),
    ("apns: {retry: {initial: 1m}}", "apns.retry.initial"),
    (
      "apns: {connections_per_lane: 3, connections_per_lane_maximum: 2}",
      "apns.connections_per_lane_maximum"
    ),
    ("events: {maximum_expires_in: 1m}", "events.default_expires_in"),
    ("redis: {prefix: {data: 'ff:x'}}", "redis.prefix.data"),
    ("redis: {prefix: {dashboards: 'ff'}}", "redis.prefix.data"),
    ("redis: {username: u}", "redis.username"),
    ("redis: {cluster: ['r:1'], database: 1}", "redis.database"),
    ("apns: {proxy: {host: p, username: 'a:b', password: c}}", "apns.proxy.username"),
    ("fcm: {proxy: {host: p, username: 'a:b', password: c}}", "fcm.proxy.username"),
    ("webpush: {proxy: {host: p, username: 'a:b', password: c}}", "webpush.proxy.username"),
    ("redis: {cluster: ['r:1'], sentinel: {nodes: ['s:1']}}", "redis.sentinel.nodes"),
    ("redis: {cluster: ['r']}", "redis.cluster"), ("redis: {cluster: []}", "redis.cluster"),
    ("kafka: {topics: {segments: notify-followers}}", "kafka.topics.segments"),
    ("apns: {key_id: ABC123DEFG, team_id: ABC123DEFG}", "apns.key_file"),
    ("apns: {key_id: abc, team_id: ''}", "apns.key_id"),
    ("apns: {key_id: ABC123DEFG, key_file: k.p8, team_id: simulated2}", "apns.team_id"),
    ("apns: {certificate_file: fanfare.yaml, team_id: ABC123DEFG}", "apns.team_id"),
    (
      "kafka: {security: {protocol: sasl_ssl, mechanism: OAUTHBEARER}}",
      "kafka.security.mechanism"
    ),
    (
      "kafka: {security: {protocol: sasl_ssl, mechanism: PLAIN, username: u}}",
      "kafka.security.password"
    ),
    (
      "kafka: {security: {protocol: sasl_ssl, username: u, password: p}}",
      "kafka.security.mechanism"
    ),
  ])
  func refusesWhatDoesNotGoTogether(_ yaml: String, _ key: String) throws {
    let problems = try SettingsFixture(yaml).load().problems
    #expect(problems.map(\.key) == [key], "\(problems)")
    #expect(problems.first?.place?.contains("fanfare.yaml:1:") == true, "\(problems)")
  }

  @Test(arguments: [
    ("apns: {proxy: {username: u, password: p}}", ["apns.proxy.username"]),
    ("apns: {proxy: {host: p, password: p}}", ["apns.proxy.password"]),
    ("apns: {proxy: {host: p, username: u, password: p}}", []),
    ("apns: {proxy: {host: p}}", []),
    ("fcm: {proxy: {username: u, password: p}}", ["fcm.proxy.username"]),
    ("webpush: {proxy: {host: p, password: p}}", ["webpush.proxy.password"]),
  ])
  func aNameForAProxyNeedsTheProxy(_ yaml: String, _ keys: [String]) throws {
    let report = try SettingsFixture(yaml).load()
    #expect(report.warnings.map(\.key) == keys && report.problems.isEmpty)
  }

  @Test(arguments: [
    ("production: {host: api.sandbox.push.apple.com}", ["apns.production.host"]),
    ("production: {host: API.development.push.apple.com}", ["apns.production.host"]),
    ("sandbox: {host: api.push.apple.com}", ["apns.sandbox.host"]),
    (
      "production: {broadcast_host: api-broadcast.sandbox.push.apple.com}",
      ["apns.production.broadcast_host"]
    ),
    (
      "sandbox: {channels_host: api-manage-broadcast.push.apple.com}",
      ["apns.sandbox.channels_host"]
    ),
    ("sandbox: {host: api.development.push.apple.com}", []),
    ("production: {host: sandbox.example.com}, sandbox: {host: localhost}", []),
  ])
  func warnsOfAppleServersOfTheOtherEnvironment(_ yaml: String, _ keys: [String]) throws {
    let report = try SettingsFixture("apns: {\(yaml)}").load()
    #expect(report.warnings.map(\.key) == keys && report.problems.isEmpty, "\(report.findings)")
  }

  /// A name that each process makes up never comes back.
  @Test(arguments: [
    ("kafka: {static_membership: true}", 1),
    ("{kafka: {static_membership: true}, worker: {id: w-1}}", 0),
    ("kafka: {static_membership: false}", 0),
  ])
  func aStaticMemberNeedsAName(_ yaml: String, _ count: Int) throws {
    var fixture = try SettingsFixture(yaml)
    #expect(fixture.load().problems.isEmpty, "who sends nothing joins no group")
    fixture.requirements = .credentials
    let problems = fixture.load().problems.filter { $0.key == "kafka.static_membership" }
    #expect(problems.count == count, "\(problems)")
  }

  @Test(arguments: [
    ("kafka: {security: {username: u}}", "kafka.security.username"),
    ("kafka: {security: {ca_file: ca.pem}}", "kafka.security.ca_file"),
    (
      "kafka: {security: {protocol: sasl_ssl, mechanism: GSSAPI, username: u}}",
      "kafka.security.username"
    ),
    (
      "kafka: {security: {protocol: sasl_ssl, mechanism: OAUTHBEARER, password: p}, "
        + "properties: {sasl.oauthbearer.method: oidc}}", "kafka.security.password"
    ),
    ("redis: {tls: {ca_file: ca.pem}}", "redis.tls.ca_file"),
    ("redis: {cluster: ['r:1', '[::1]:2'], host: h}", "redis.host"),
    ("redis: {cluster: 'r:1, s:2', port: 1}", "redis.port"),
    ("redis: {sentinel: {nodes: 's:2'}, port: 1}", "redis.port"),
    ("redis: {sentinel: {password: m}}", "redis.sentinel.password"),
  ])
  func warnsOfWhatIsNotUsed(_ yaml: String, _ key: String) throws {
    let fixture = try SettingsFixture(yaml)
    try fixture.directory.write(sampleCertificate, to: "ca.pem")
    let report = fixture.load()
    #expect(report.problems.isEmpty, "\(report.problems)")
    #expect(report.warnings.map(\.key) == [key])
  }

  @Test(arguments: [
    ("enable.auto.commit", "false"), ("enable.auto.offset.store", "false"), ("group.id", "x"),
    ("partition.assignment.strategy", "range,cooperative-sticky"), ("sasl.password", "x"),
    ("bootstrap.servers", "x:1"), ("enable.ssl.certificate.verification", "false"),
    ("ssl.endpoint.identification.algorithm", "none"), ("Not A Property", "1"), ("", "1"),
    ("client.rack", "a\\nb"),
  ])
  func refusesPropertiesThatFanfareOwns(_ name: String, _ value: String) throws {
    let problems = try SettingsFixture("kafka: {properties: {\"\(name)\": \"\(value)\"}}").load()
      .problems
    #expect(problems.map(\.key) == ["kafka.properties"], "\(problems)")
  }

  @Test func noPropertyIsRefusedForTwoReasons() {
    #expect(Set(KafkaProperties.owned.keys).isDisjoint(with: KafkaProperties.keys.keys))
  }

  @Test func takesOtherProperties() throws {
    try expectFindings(
      "kafka: {properties: {partition.assignment.strategy: roundrobin, client.rack: eu-1}}", [])
  }

  @Test func asksForAKeyWhereSomebodySends() throws {
    var fixture = try SettingsFixture("")
    #expect(fixture.findings() == [])
    fixture.requirements = .credentials
    #expect(fixture.load().problems.map(\.key) == ["apns.key_file"])
  }

  /// Nobody knows what such a file sets.
  @Test(arguments: [
    "apns:\n\tkey_file: k.p8\n", "apns: {key_file: 'k.p8}\n",
    "redis: {port: 1}\nredis: {port: 2}\n",
  ])
  func aFileThatCannotBeReadIsTheOnlyProblem(_ yaml: String) throws {
    var fixture = try SettingsFixture(yaml)
    fixture.requirements = .credentials
    let problems = fixture.load().problems
    #expect(problems.count == 1 && problems.first?.key == nil, "\(problems)")
  }
}

@Suite struct FileRulesTests {
  private func fixture(_ pem: String, mode: mode_t = 0o440) throws -> SettingsFixture {
    var fixture = try SettingsFixture(
      "apns: {key_file: k.p8, key_id: ABC123DEFG, team_id: ABC123DEFG}\n")
    fixture.requirements = .credentials
    chmod(try fixture.directory.write(pem, to: "k.p8"), mode)
    return fixture
  }

  @Test func takesAKey() throws { #expect(try fixture(samplePEM).findings() == []) }

  @Test(arguments: [
    (
      "redis: {tls: {enabled: true, certificate_file: c.pem, key_file: k.pem}}",
      "redis.tls.key_file"
    ),
    ("redis: {tls: {enabled: true, certificate_file: k.pem}}", "redis.tls.certificate_file"),
  ])
  func looksAtTheKeyThatRedisIsShown(yaml: String, key: String) throws {
    for (mode, count) in [(0o440, 0), (0o444, 1), (0o666, 1)] {
      let fixture = try SettingsFixture(yaml + "\n")
      try fixture.directory.write("a certificate", to: "c.pem")
      chmod(try fixture.directory.write("a key", to: "k.pem"), mode_t(mode))
      let found = fixture.findings()
      #expect(found.count == count, "\(found)")
      let words = mode == 0o444 ? "read" : "written"
      #expect(
        found.allSatisfy { $0.contains("\(key): k.pem can be \(words) by every") }, "\(found)")
    }
  }

  @Test func warnsOfAKeyThatEverybodyMayRead() throws {
    #expect(
      try fixture(samplePEM, mode: 0o444).findings() == [
        "fanfare.yaml:1:18: warning: apns.key_file: k.p8 can be read by every user of this machine "
          + "(chmod 0440, or defaultMode: 0440 in Kubernetes)"
      ])
  }

  /// Whoever may write them says who we are, and who may ask us.
  @Test(arguments: [
    ("apns: {key_file: k.p8, key_id: ABC123DEFG, team_id: ABC123DEFG}\n", "apns.key_file"),
    ("redis: {password_file: k.p8}\n", "redis.password_file"),
    ("kafka: {security: {password_file: k.p8}}\n", "kafka.security.password_file"),
    ("api: {keys_file: k.p8}\n", "api.keys_file"),
    ("api: {tls: {key_file: k.p8}}\n", "api.tls.key_file"),
    ("apns: {certificate_file: k.p8}\n", "apns.certificate_file"),
  ])
  func refusesASecretThatEverybodyMayWrite(_ text: String, _ key: String) throws {
    var fixture = try SettingsFixture(text)
    if key.hasPrefix("apns") { fixture.requirements = .credentials }
    chmod(try fixture.directory.write(samplePEM, to: "k.p8"), 0o666)
    let found = fixture.load().problems.filter { $0.key == key }.map(\.message)
    let file = fixture.directory.file("k.p8")
    #expect(found == ["\(file) can be written by every user of this machine"])
  }

  @Test(arguments: ["api: {keys_file: k.p8}\n", "api: {tls: {key_file: k.p8}}\n"])
  func warnsOfTheAPIsSecretsThatEverybodyMayRead(_ text: String) throws {
    let fixture = try SettingsFixture(text)
    chmod(try fixture.directory.write(samplePEM, to: "k.p8"), 0o444)
    #expect(fixture.findings().contains { $0.contains("can be read by every user") })
  }

  @Test(arguments: [
    (sampleCertificate, "is a certificate"), ("", "is none"), ("garbage \u{0}", "is none"),
    ("-----BEGIN EC PRIVATE KEY-----\n", "in the older form"),
    ("-----BEGIN ENCRYPTED PRIVATE KEY-----\n", "is encrypted"),
    ("-----BEGIN RSA PRIVATE KEY-----\n", "another kind of key"),
    ("-----BEGIN PRIVATE KEY-----\nMIGT", "is cut off"),
    (String(repeating: "x", count: 70_000), "at most 65536 are read"),
  ])
  func saysWhatAKeyFileIsInstead(_ content: String, _ message: String) throws {
    let problems = try fixture(content).load().problems
    #expect(problems.count == 1 && problems[0].message.contains(message), "\(problems)")
    #expect(problems.first?.key == "apns.key_file")
  }

  /// A key that cannot be read must not keep anybody from cancelling a fan-out.
  @Test(arguments: [
    ("key_file: none.p8, key_id: ABC123DEFG, team_id: ABC123DEFG", "apns.key_file"),
    ("key_file: k.txt, team_id: ABC123DEFG", "apns.key_id"),
    ("certificate_file: none.p12", "apns.certificate_file"),
  ])
  func whoDoesNotSendIsOnlyWarned(_ apns: String, _ key: String) throws {
    var fixture = try SettingsFixture("apns: {\(apns)}\n")
    try fixture.directory.write(samplePEM, to: "k.txt")
    chmod(fixture.directory.path + "/k.txt", 0o400)
    let report = fixture.load()
    #expect(report.problems.isEmpty && report.findings.map(\.key) == [key], "\(report.findings)")
    fixture.requirements = .credentials
    #expect(fixture.load().problems.map(\.key) == [key])
  }

  @Test func looksForEveryFile() throws {
    var fixture = try SettingsFixture(
      """
      apns: {key_file: none.p8, key_id: ABC123DEFG, team_id: ABC123DEFG, ca_file: no-ca.pem}
      redis: {tls: {enabled: true, ca_file: empty.pem}}
      kafka: {security: {protocol: ssl, ca_file: .}}
      """)
    fixture.requirements = .credentials
    try fixture.directory.write("", to: "empty.pem")
    #expect(
      fixture.load().problems.map(\.key) == [
        "apns.key_file", "apns.ca_file", "redis.tls.ca_file", "kafka.security.ca_file",
      ])
  }
}
