import API
import Assembly
import Fixtures
import Glibc
import Processes
import Settings
import TLS
import Telemetry
import Testing

/// The API's own TLS, asked by OpenSSL's client.
@Suite struct APITLSTests {
  private let directory: ScratchDirectory
  private let sink = MemorySink()

  init() throws {
    directory = try ScratchDirectory()
    let (_, line) = APIKey.make(name: "k", scope: .readOnly)
    try directory.write(line + "\n", to: "keys")
  }

  /// Puts an authority's pair where the API looks, and the authority beside it.
  private func put(_ authority: ThrowAwayAuthority, as name: String) throws {
    let own = directory.file(name)
    mkdir(own, 0o700)
    let files = try authority.write(to: own)
    rename(files.certificate, directory.file("api.crt"))
    rename(files.key, directory.file("api.key"))
    rename(files.authority, directory.file("\(name).pem"))
  }

  private func settings() -> Settings {
    var settings = Settings.defaults
    settings.api.port = 0
    settings.api.keysFile = directory.file("keys")
    settings.api.tls.certificateFile = directory.file("api.crt")
    settings.api.tls.keyFile = directory.file("api.key")
    settings.redis.port = 1
    settings.kafka.bootstrapServers = ["127.0.0.1:1"]
    return settings
  }

  /// A name may begin like an address, and lead anywhere.
  @Test(arguments: [
    ("127.0.0.2", true), ("::1", true), ("localhost", true), ("127.example.com", false),
    ("0.0.0.0", false),
  ])
  func withoutACertificateOnlyThisMachineIsServed(_ host: String, _ isServed: Bool) {
    var settings = settings()
    settings.api.tls = Settings.defaults.api.tls
    settings.api.host = host
    let log = Log(LogOptions(format: .json), sink: sink)
    #expect(((try? Assembly.apiOptions(settings, log: log, audit: nil)) != nil) == isServed)
  }

  private func run(_ body: (Int) async throws -> Void) async throws {
    let settings = settings()
    let log = Log(LogOptions(format: .json), sink: sink)
    let options = try Assembly.apiOptions(settings, log: log, audit: nil)
    let server = APIServer(options)
    let port = try await server.start()
    let watch = APIFileWatch(settings, options, server, log, every: .milliseconds(20))
    watch.start()
    do {
      try await body(port)
    } catch {
      watch.stop()
      await server.stop()
      throw error
    }
    watch.stop()
    await server.stop()
  }

  /// What a client sees that trusts one authority: the protocol that was agreed on; nil when they
  /// did not come together.
  private func handshake(
    _ port: Int, trusting name: String, _ more: [String] = []
  ) throws -> String? {
    let process = try ChildProcess(
      [
        "openssl", "s_client", "-connect", "127.0.0.1:\(port)", "-CAfile",
        directory.file("\(name).pem"), "-verify_return_error", "-verify_ip", "127.0.0.1", "-brief",
      ] + more, output: .pipe)
    let said = process.readToEnd()
    guard process.waitForExit() == 0 else { return nil }
    return said.split(separator: "\n").first { $0.contains("Protocol version: ") }
      .map { String($0.drop { $0 != ":" }.dropFirst(2)) }
  }

  private func until(_ isThere: () throws -> Bool) throws -> Bool {
    let deadline = ContinuousClock.now + .seconds(30)
    while ContinuousClock.now < deadline {
      if try isThere() { return true }
      _ = poll(nil, 0, 10)
    }
    return false
  }

  @Test func itShowsItsCertificateAndSpeaksNoOldTLS() async throws {
    try put(ThrowAwayAuthority(hosts: ["127.0.0.1"]), as: "first")
    try put(ThrowAwayAuthority(hosts: ["127.0.0.1"]), as: "second")
    try await run { port in
      #expect(try handshake(port, trusting: "second") == "TLSv1.3")
      #expect(try handshake(port, trusting: "second", ["-tls1_2"]) == "TLSv1.2")
      #expect(try handshake(port, trusting: "first") == nil)
      // Which the client would take.
      let weak = ["-cipher", "DEFAULT@SECLEVEL=0"]
      #expect(try handshake(port, trusting: "second", ["-tls1_2"] + weak) == "TLSv1.2")
      for version in ["-tls1_1", "-tls1"] {
        #expect(try handshake(port, trusting: "second", [version] + weak) == nil, "\(version)")
      }
      // Plain HTTP gets no answer.
      let client = try RawClient(port: port)
      client.send("GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(client.readToEnd()?.contains("HTTP/1.1 200") != true)
    }
  }

  /// Who gets the key later must not read what was said before.
  @Test func keysAreAgreedOnForEachConnection() async throws {
    _ = try ChildProcess.run([
      "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=a",
      "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", directory.file("api.key"), "-out",
      directory.file("api.crt"),
    ])
    let certificate = try ChildProcess.run(["cat", directory.file("api.crt")])
    try directory.write(certificate, to: "own.pem")
    try await run { (port: Int) async throws in
      func agreed(_ cipher: String) throws -> String? {
        try handshake(port, trusting: "own", ["-tls1_2", "-cipher", cipher + ":@SECLEVEL=0"])
      }
      #expect(try agreed("ECDHE-RSA-AES128-GCM-SHA256") == "TLSv1.2")
      for cipher in ["AES128-GCM-SHA256", "AES256-SHA", "ECDHE-RSA-AES128-SHA", "kRSA"] {
        #expect(try agreed(cipher) == nil, "\(cipher)")
      }
      #expect(try handshake(port, trusting: "own", ["-alpn", "http/1.1"]) == "TLSv1.3")
      #expect(try handshake(port, trusting: "own", ["-alpn", "h2"]) == nil)
    }
  }

  @Test func anotherCertificateIsShownWithoutARestart() async throws {
    try put(ThrowAwayAuthority(hosts: ["127.0.0.1"]), as: "first")
    try await run { port in
      #expect(try handshake(port, trusting: "first") == "TLSv1.3")
      try put(ThrowAwayAuthority(hosts: ["127.0.0.1"]), as: "second")
      #expect(try until { try handshake(port, trusting: "second") == "TLSv1.3" })
      #expect(try handshake(port, trusting: "first") == nil)
      #expect(sink.lines.contains { $0.contains("another certificate is shown") })
    }
  }

  @Test(arguments: ["nothing", "no PEM", "another's key"])
  func aPairThatIsBrokenIsRefusedAndTheOneBeforeShown(fault: String) async throws {
    try put(ThrowAwayAuthority(hosts: ["127.0.0.1"]), as: "first")
    try await run { port in
      #expect(try handshake(port, trusting: "first") == "TLSv1.3")
      switch fault {
      case "nothing": unlink(directory.file("api.crt"))
      case "no PEM": try directory.write("no PEM\n", to: "api.crt")
      default:
        try directory.write(try ES256Key.generate().privateKeyPEM, to: "api.key")
      }
      #expect(
        try until { sink.lines.contains { $0.contains("certificate has changed and cannot be") } })
      #expect(try handshake(port, trusting: "first") == "TLSv1.3")
      // Once it is mended the pair is shown.
      try put(ThrowAwayAuthority(hosts: ["127.0.0.1"]), as: "second")
      #expect(try until { try handshake(port, trusting: "second") == "TLSv1.3" })
      let complaints = sink.lines.filter { $0.contains("cannot be used") }
      #expect((1...4).contains(complaints.count), "\(complaints)")
    }
  }

  @Test func plainHTTPIsServedElsewhereOnlyWhenThatIsSaid() throws {
    try put(ThrowAwayAuthority(hosts: ["127.0.0.1"]), as: "first")
    let log = Log(sink: sink)
    var plain = settings()
    plain.api.tls = Settings.defaults.api.tls
    for host in ["127.0.0.1", "::1", "localhost"] {
      plain.api.host = host
      #expect(throws: Never.self) { try Assembly.apiOptions(plain, log: log, audit: nil) }
    }
    for host in ["0.0.0.0", "::", "10.0.0.1", "api.example.com"] {
      plain.api.host = host
      let error = #expect(throws: SettingsError.self) {
        try Assembly.apiOptions(plain, log: log, audit: nil)
      }
      #expect(error?.problems.first?.key == "api.host")
      var told = plain
      told.api.plain = true
      #expect(throws: Never.self) { try Assembly.apiOptions(told, log: log, audit: nil) }
      var secured = plain
      secured.api.tls = settings().api.tls
      #expect(throws: Never.self) { try Assembly.apiOptions(secured, log: log, audit: nil) }
    }
    plain.api.host = "::1"
    for (threads, expected) in [(43, 43), (1, 1), (0, min(4, ProcessLimits.current.processors))] {
      plain.api.threads = threads
      let options = try Assembly.apiOptions(plain, log: log, audit: nil)
      #expect(options.threads == expected)
    }
    var half = settings()
    half.api.tls.keyFile = nil
    #expect(throws: SettingsError.self) { try Assembly.apiOptions(half, log: log, audit: nil) }
  }
}
