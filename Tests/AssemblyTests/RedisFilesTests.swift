import Glibc
import Processes
import Redis
import Settings
import TLS
import Testing
import Transport

@testable import Assembly

/// Files that connections to Redis are made with are replaced while the process runs.
@Suite struct RedisFilesTests {
  private let directory: ScratchDirectory

  init() throws { directory = try ScratchDirectory() }

  private func options(_ yaml: String) throws -> RedisOptions {
    let file = try directory.write("redis:\n" + yaml, to: "fanfare.conf")
    let report = SettingsLoader.load(SettingsInput(file: file, environment: [:], overrides: []))
    return try Assembly.redisOptions(try report.settings())
  }

  /// The certificate of a client, in files of these names.
  private func writeCertificate(_ name: String) throws {
    let files = try ThrowAwayAuthority(hosts: ["localhost"]).write(to: directory.path)
    for (made, kind) in [(files.certificate, "pem"), (files.key, "key")] {
      let file = try BoundedFile.read(made, maximumBytes: 1 << 20)
      _ = try directory.write(file.text, to: "\(name).\(kind)")
    }
  }

  @Test func aPasswordIsReadAgain() throws {
    _ = try directory.write("token-1\n", to: "token")
    _ = try directory.write("other-1\n", to: "other")
    let options = try options(
      """
        username: app
        password_file: token
        sentinel: { nodes: ["s.example:1"], username: us, password_file: other }
      """)
    #expect(options.username == "app" && options.password == "token-1")
    let sentinel = try #require(options.sentinel)
    #expect(sentinel.username == "us" && sentinel.password == "other-1")
    _ = try directory.write("token-2\n", to: "token")
    _ = try directory.write("other-2\n", to: "other")
    var fresh = RedisOptions()
    #expect(options.refresh?(&fresh) == nil && fresh.password == "token-2")
    #expect(sentinel.refresh?(&fresh) == nil && fresh.password == "other-2")
    // What cannot be read leaves what was there, and is said once.
    _ = try directory.write("", to: "token")
    let complaint = options.refresh?(&fresh)
    #expect(complaint?.hasPrefix("password_file: must not be empty") == true)
    #expect(fresh.password == "token-2")
    #expect(options.refresh?(&fresh) == nil)
  }

  /// Which was given on the command line, say, where the file is the configuration's.
  @Test func aPasswordThatIsNoFilesStays() throws {
    _ = try directory.write("token-1\n", to: "token")
    let file = try directory.write("redis:\n  password_file: token\n", to: "fanfare.conf")
    let report = SettingsLoader.load(
      SettingsInput(
        file: file, environment: ["FANFARE_REDIS_PASSWORD": "given"], overrides: []))
    let options = try Assembly.redisOptions(try report.settings())
    var fresh = options
    #expect(options.refresh?(&fresh) == nil)
    #expect(options.password == "given" && fresh.password == "given")
  }

  @Test func aCertificateIsReadAgain() throws {
    try writeCertificate("client")
    let options = try options(
      "  tls: { enabled: true, certificate_file: client.pem, key_file: client.key }\n")
    var fresh = RedisOptions()
    #expect(options.refresh?(&fresh) == nil)
    #expect(fresh.tls != nil && fresh.tls === options.tls, "nothing has changed")
    try writeCertificate("client")
    #expect(options.refresh?(&fresh) == nil)
    #expect(fresh.tls !== options.tls)
    let good = fresh.tls
    _ = try directory.write("nothing", to: "client.pem")
    let complaint = options.refresh?(&fresh)
    #expect(complaint?.hasPrefix("tls.certificate_file: there is no certificate") == true)
    #expect(fresh.tls === good)
  }

  @Test func secretsThatEverybodyMayWriteAreNotUsed() throws {
    try writeCertificate("client")
    _ = try directory.write("token-1\n", to: "token")
    let yaml = """
        password_file: token
        tls: { enabled: true, certificate_file: client.pem, key_file: client.key }
      """
    let options = try options(yaml)
    _ = try directory.write("token-2\n", to: "token")
    try writeCertificate("client")
    for name in ["token", "client.key"] { chmod(directory.file(name), 0o666) }
    var fresh = options
    let complaint = try #require(options.refresh?(&fresh))
    #expect(complaint.contains("password_file: ") && complaint.contains("tls.key_file: "))
    #expect(fresh.password == "token-1" && fresh.tls === options.tls)
    chmod(directory.file("token"), 0o440)
    let error = #expect(throws: SettingsError.self) { try self.options(yaml) }
    #expect(error?.problems.map(\.key) == ["redis.tls.key_file"])
  }

  @Test func aFileThatCannotBeUsedIsNamedByItsOwnKey() throws {
    try writeCertificate("client")
    try writeCertificate("other")
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    _ = try directory.write(broken, to: "broken.pem")
    func key(_ certificate: String, _ key: String, _ authority: String? = nil) -> String? {
      let authority = authority.map { ", ca_file: \($0)" } ?? ""
      let error = #expect(throws: SettingsError.self) {
        try options(
          "  tls: { enabled: true, certificate_file: \(certificate), "
            + "key_file: \(key)\(authority) }\n"
        )
      }
      return error?.problems.first?.key
    }
    #expect(key("client.pem", "client.key", "broken.pem") == "redis.tls.ca_file")
    #expect(key("client.pem", "other.key") == "redis.tls.key_file")
    #expect(key("broken.pem", "client.key") == "redis.tls.certificate_file")
    #expect(key("client.pem", "none.key") == "redis.tls.key_file")
  }

  @Test func sentinelsHaveTLSOfTheirOwn() throws {
    try writeCertificate("client")
    let nodes = "nodes: [\"s.example:1\"]"
    func tls(_ sentinel: String, _ redis: String) throws -> (ClientSecurity?, ClientSecurity?) {
      let options = try options(
        "  tls: { \(redis) }\n  sentinel: { \(nodes), tls: { \(sentinel) } }\n")
      return (options.tls, options.sentinel?.tls ?? nil)
    }
    let both = try tls("enabled: as_redis", "enabled: true")
    #expect(both.0 != nil && both.1 != nil)
    let redisAlone = try tls("enabled: false", "enabled: true")
    #expect(redisAlone.0 != nil && redisAlone.1 == nil)
    let sentinelsAlone = try tls("enabled: true", "enabled: false")
    #expect(sentinelsAlone.0 == nil && sentinelsAlone.1 != nil)
    let neither = try tls("enabled: as_redis", "enabled: false")
    #expect(neither.0 == nil && neither.1 == nil)
  }

  @Test(arguments: [
    "  tls: { enabled: true, certificate_file: none.pem }\n",
    "  tls: { enabled: true, key_file: client.key }\n",
    "  sentinel: { nodes: [\"s:1\"], tls: { enabled: true, certificate_file: none.pem } }\n",
    "  sentinel: { nodes: [\"s.example:1\"], username: us }\n",
  ])
  func whatCannotBeRightIsRefused(yaml: String) {
    #expect(throws: SettingsError.self) { try options(yaml) }
  }
}
