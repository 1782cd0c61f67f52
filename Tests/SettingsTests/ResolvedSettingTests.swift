import Processes
import Settings
import Testing

@Suite struct ResolvedSettingTests {
  private func resolved(_ fixture: SettingsFixture) -> [String: ResolvedSetting] {
    Dictionary(uniqueKeysWithValues: fixture.load().resolved.map { ($0.path, $0) })
  }

  /// Value and origins of a key, with the directory's changing name taken out.
  private func shown(
    _ path: String, _ fixture: SettingsFixture
  ) throws -> (value: String, from: [String]) {
    let setting = try #require(resolved(fixture)[path])
    return (
      setting.value.text.replacing(fixture.directory.path + "/", with: ""),
      setting.origins.map { "\($0)".replacing(fixture.directory.path + "/", with: "") }
    )
  }

  @Test func everyKeyHasAValueAndAnOrigin() throws {
    let report = try SettingsFixture("log: {level: debug}\n").load()
    #expect(report.resolved.map(\.path) == SettingTable.keys.map(\.path))
    #expect(report.resolved.filter(\.isChanged).map(\.path) == ["log.level"])
    #expect(report.resolved.allSatisfy { !$0.origins.isEmpty })
  }

  @Test func theLayerThatWonIsNamed() throws {
    var fixture = try SettingsFixture("redis: {host: file, port: 1}\nlanes: {batch_bytes: 64MiB}\n")
    fixture.environment = ["FANFARE_REDIS_PORT": "2"]
    fixture.overrides = [("redis.database", "3")]
    #expect(try shown("redis.host", fixture) == ("file", ["fanfare.yaml:1:15"]))
    #expect(try shown("redis.port", fixture) == ("2", ["environment FANFARE_REDIS_PORT"]))
    #expect(try shown("redis.database", fixture) == ("3", ["--set redis.database"]))
    #expect(try shown("lanes.batch_bytes", fixture) == ("64MiB", ["fanfare.yaml:2:22"]))
    #expect(try shown("redis.connect_timeout", fixture) == ("5s", ["default"]))
    #expect(try shown("redis.username", fixture) == ("-", ["default"]))
    #expect(try shown("worker.id", fixture) == ("host-42", ["this process"]))
    #expect(try shown("templates.directory", fixture) == ("templates", ["default"]))
  }

  @Test func noSecretIsShown() throws {
    var fixture = try SettingsFixture(
      """
      redis: {password_file: pw}
      kafka: {security: {password: hunter1}, properties: {sasl.jaas.config: hunter2, linger.ms: 5}}
      """)
    _ = try fixture.directory.write("hunter3\n", to: "pw")
    fixture.environment = ["FANFARE_APNS_PROXY_PASSWORD": "hunter4"]
    let all = resolved(fixture)
    #expect(!all.values.contains { "\($0)".contains("hunter") })
    #expect(all["redis.password"]?.value == .redacted)
    let password = try shown("redis.password", fixture)
    #expect(password.value == "(redacted)")
    #expect(password.from == ["the file pw, named by fanfare.yaml:1:24"])
    #expect(try shown("redis.password_file", fixture) == ("pw", ["fanfare.yaml:1:24"]))
    #expect(try shown("kafka.security.password", fixture).from == ["fanfare.yaml:2:30"])
    #expect(all["apns.proxy.password"]?.value == .redacted)
    let properties = try shown("kafka.properties", fixture).value
    #expect(properties == "{linger.ms: 5, sasl.jaas.config: (redacted)}")
  }

  @Test func aMappingNamesEachLayerThatAddedToIt() throws {
    var fixture = try SettingsFixture("kafka: {properties: {linger.ms: 5}}\n")
    fixture.overrides = [
      ("kafka.properties.debug", "cgrp"), ("kafka.properties.ssl.key.password", "x"),
    ]
    let properties = try shown("kafka.properties", fixture)
    #expect(properties.value == "{debug: cgrp, linger.ms: 5, ssl.key.password: (redacted)}")
    #expect(properties.from.first == "fanfare.yaml:1:21" && properties.from.count == 3)
    #expect(properties.from.last == "--set kafka.properties.ssl.key.password")
  }

  @Test func aWrongValueIsShownAsTheDefault() throws {
    let fixture = try SettingsFixture("redis: {port: 70000}\n")
    #expect(fixture.load().problems.count == 1)
    #expect(try shown("redis.port", fixture) == ("6379", ["default"]))
  }
}
