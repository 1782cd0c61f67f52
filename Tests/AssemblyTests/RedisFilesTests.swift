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
    #expect(options.refresh?(&fresh)?.hasPrefix("tls: ") == true && fresh.tls === good)
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
