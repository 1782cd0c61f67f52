import Glibc
import Settings
import Testing

@Suite struct SettingsFileTests {
  @Test func anEmptyFileGivesTheDefaults() throws {
    for yaml in ["", "# nothing\n", "---\n", "{}", "kafka:\nredis: {tls: }\n"] {
      var settings = try SettingsFixture(yaml).settings()
      #expect(settings.worker.id == "host-42")
      #expect(settings.templates.directory.hasSuffix("/templates"))
      settings.worker.id = ""
      settings.templates.directory = "templates"
      #expect(settings == Settings.defaults)
    }
    #expect(Settings.defaults.kafka.bootstrapServers == ["127.0.0.1:9092"])
    #expect(Settings.defaults.apns.tokenLifetime == .seconds(3_000))
    #expect(Settings.defaults.kafka.maximumEventBytes == 65_536)
  }

  @Test func readsEveryKindOfValue() throws {
    let settings = try SettingsFixture(
      """
      kafka:
        bootstrap_servers: [a.example:9092, "[::1]:9093"]
        fetch_wait_maximum: 250ms
        maximum_event_bytes: 128KiB
        properties: { socket.keepalive.enable: true, ssl.key.password: "a b" }
      redis:
        tls: { enabled: true }
        password: "p ss"
      lanes:
        count: 3
      audience: { plain_set_key: "followers:{streamer}" }
      log: { format: json }
      """
    ).settings()
    #expect(settings.kafka.bootstrapServers == ["a.example:9092", "[::1]:9093"])
    #expect(settings.kafka.fetchWaitMaximum == .milliseconds(250))
    #expect(settings.kafka.maximumEventBytes == 131_072)
    #expect(
      settings.kafka.properties == ["socket.keepalive.enable": "true", "ssl.key.password": "a b"])
    #expect(settings.redis.tls.enabled)
    #expect(settings.redis.password == Secret("p ss"))
    #expect(settings.lanes.count == 3)
    #expect(settings.audience.plainSetKey == "followers:{streamer}")
    #expect(settings.log.format == .json)
  }

  @Test func saysEverythingThatIsWrongAtOnceAndWhere() throws {
    try expectFindings(
      """
      kafka:
        bootstrap_servers: [ok:1, "no port", "x:99999"]
        group: ["a"]
        sesion_timeout: 5s
        fetch_wait_maximum: 100
        maximum_event_bytes: 2MiB
      redis:
        port: http
        tls: yes
        database: -1
      lanes:
        drain_timeout: soon
      log:
        level: inof
      """,
      [
        "fanfare.yaml:2:29: kafka.bootstrap_servers: must be host:port, is `no port`",
        "fanfare.yaml:2:40: kafka.bootstrap_servers: must be host:port, is `x:99999`",
        "fanfare.yaml:3:10: kafka.group: must be text without spaces and braces, is a list",
        "fanfare.yaml:4:3: warning: unknown key `kafka.sesion_timeout` "
          + "(did you mean kafka.session_timeout?)",
        "fanfare.yaml:5:23: kafka.fetch_wait_maximum: has no unit: `100` "
          + "(write 100s for seconds, 100ms for milliseconds)",
        "fanfare.yaml:6:24: kafka.maximum_event_bytes: must be at most 1MiB, is `2MiB`",
        "fanfare.yaml:8:9: redis.port: must be an integer, 1…65535, is `http`",
        "fanfare.yaml:9:8: redis.tls: must be a mapping of keys, is a single value",
        "fanfare.yaml:10:13: redis.database: must be at least 0, is `-1`",
        "fanfare.yaml:12:18: lanes.drain_timeout: must be a duration, is `soon` "
          + "(write it like 500ms, 10s, 15m, 48h or 7d)",
        "fanfare.yaml:14:10: log.level: must be one of error, warning, notice, info, debug, "
          + "is `inof` (did you mean info?)",
      ])
  }

  @Test func countsProblemsAndThrowsThemTogether() throws {
    let report = try SettingsFixture("redis: {port: 0, database: x}\nwrong: 1\n").load()
    #expect(report.problems.count == 2 && report.warnings.count == 1)
    #expect {
      try report.settings()
    } throws: { error in
      let text = "\(error)"
      return text.hasPrefix("the configuration has 2 problems:\n") && text.contains(":1:15: redis")
    }
  }

  @Test(arguments: [
    ("kafka: {maximum_event_bytes: -1}", "must be at least 1KiB, is `-1`"),
    ("apns: {ready_pushes_per_lane: -2048}", "must be at least 16, is `-2048`"),
    ("apns: {request_timeout: -30s}", "must be at least 1s, is `-30s`"),
    ("events: {default_expires_in: 9223372036854775807d}", "is too large"),
    ("kafka: {maximum_event_bytes: 9223372036854775807GiB}", "is too large"),
    ("lanes: {count: 99999999999999999999}", "must be an integer"),
    ("lanes: {count: 1.5}", "must be an integer"), ("lanes: {count: {}}", "is a mapping"),
    ("redis: {tls: {enabled: 'yes'}}", "must be true or false, is `yes`"),
    ("kafka: {maximum_event_bytes: 64KB}", "has an unknown unit"),
    ("apns: {connect_timeout: 10sec}", "has an unknown unit"),
    ("apns: {token_lifetime: 1h}", "must be at most 59m, is `1h`"),
    ("apns: {production: {host: 'https://api.push.apple.com'}}", "must be a host name"),
    ("apns: {production: {host: \"a\\r\\nb\"}}", "holds a control character"),
    ("redis: {prefix: {data: \"f{d\"}}", "text without spaces and braces"),
    ("audience: {plain_set_key: followers}", "with `{streamer}` in it once"),
    ("kafka: {topics: {events: 'a/b'}}", "must be letters, digits"),
    ("kafka: {bootstrap_servers: []}", "must not be empty"),
    ("redis: {host: ''}", "must be a host name or an address, is empty"),
    ("redis: {password: [a]}", "is a list"),
    ("worker: {heartbeat_interval: 1m}", "must be at most 20s"),
    ("kafka: {properties: [a]}", "must be a mapping of texts, is a list"),
    ("kafka: {properties: {a: [b]}}", "`a` must be a text, is a list"), ("[1]", "is a list"),
    ("text", "must be a mapping of keys"), ("kafka: [1]", "is a list"),
  ])
  func refusesWrongValues(_ yaml: String, _ message: String) throws {
    let problems = try SettingsFixture(yaml).load().problems
    #expect(problems.count == 1, "\(problems)")
    #expect(problems.first?.message.contains(message) == true, "\(problems)")
    #expect(problems.first?.place?.contains("fanfare.yaml:1:") == true, "\(problems)")
  }

  @Test func namesTheNearestKey() throws {
    try expectFindings(
      "kafak: {group: x}\nkafka: {drain_timeout: 1s, zzz: 1, topics: {event: x}}\nApns: {}\n",
      [
        "fanfare.yaml:1:1: warning: unknown key `kafak` (did you mean kafka?)",
        "fanfare.yaml:2:9: warning: unknown key `kafka.drain_timeout` "
          + "(did you mean lanes.drain_timeout?)",
        "fanfare.yaml:2:28: warning: unknown key `kafka.zzz`",
        "fanfare.yaml:2:45: warning: unknown key `kafka.topics.event` "
          + "(did you mean kafka.topics.events?)",
        "fanfare.yaml:3:1: warning: unknown key `Apns` (did you mean apns?)",
      ])
  }

  @Test func warningsAreProblemsWhenDenied() throws {
    var fixture = try SettingsFixture("nothing: 1\n")
    #expect(try fixture.load().problems.isEmpty && fixture.settings().redis.port == 6_379)
    fixture.denyWarnings = true
    #expect(fixture.load().problems.count == 1)
    #expect(throws: SettingsError.self) { try fixture.settings() }
  }

  @Test func readsCarriageReturns() throws {
    let fixture = try SettingsFixture("redis:\r\n  host: r\r\n  port: 1\r\nx: 1\r\n")
    #expect(fixture.findings() == ["fanfare.yaml:4:1: warning: unknown key `x`"])
    #expect(try fixture.settings().redis.host == "r")
  }

  @Test func namesThePlaceOfBrokenYAML() throws {
    try expectFindings(
      "redis:\n  host: a\n  host: b\n",
      [
        "fanfare.yaml:3:3: the key `host` is given twice, first at line 2, column 3"
      ])
    let bomb = "a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n"
    let problems = try SettingsFixture(bomb).load().problems
    #expect(problems.count == 1 && problems[0].message.contains("anchors and aliases"))
  }

  @Test func refusesAHugeFileByItsSize() throws {
    let fixture = try SettingsFixture("")
    // Nobody reads a tebibyte: it would not come to an end.
    #expect(truncate(fixture.file, 1 << 40) == 0)
    #expect(
      fixture.findings() == [
        "the configuration fanfare.yaml is 1099511627776 bytes long, at most 1048576 are read"
      ])
  }

  @Test func saysWhyAFileCannotBeRead() throws {
    let missing = SettingsLoader.load(SettingsInput(file: "/nowhere/fanfare.yaml"))
    #expect(
      missing.problems.map(\.message) == [
        "the configuration /nowhere/fanfare.yaml cannot be opened: No such file or directory"
      ])
    let directory = SettingsLoader.load(SettingsInput(file: "/tmp"))
    #expect(directory.problems.first?.message.hasSuffix("is not a regular file") == true)
    let device = SettingsLoader.load(SettingsInput(file: "/dev/zero"))
    #expect(device.problems.first?.message.hasSuffix("is not a regular file") == true)
  }

  @Test func resolvesPathsAgainstTheFile() throws {
    var fixture = try SettingsFixture(
      "templates: {directory: my/templates}\napns: {key_file: k.p8, key_id: ABC123DEFG, "
        + "team_id: ABC123DEFG}\n")
    chmod(try fixture.directory.write(samplePEM, to: "k.p8"), 0o440)
    #expect(fixture.findings() == [])
    #expect(try fixture.settings().templates.directory == fixture.directory.file("my/templates"))
    #expect(try fixture.settings().apns.keyFile == fixture.directory.file("k.p8"))
    fixture.overrides = [("templates.directory", "here"), ("templates.directory", "/abs")]
    #expect(try fixture.settings().templates.directory == "/abs")
    fixture.overrides.removeLast()
    #expect(try fixture.settings().templates.directory == "here", "flags: the working directory")
  }
}
