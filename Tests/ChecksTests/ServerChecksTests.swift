import Processes
import Settings
import TLS
import Testing
import Transport

@testable import Checks

/// Names, handshakes and certificates.
@Suite struct ServerChecksTests {
  private static let server = CheckedServer(
    name: "Redis", endpoint: Endpoint(host: "redis.test", port: 1), security: nil, proxy: nil,
    key: "redis.host")

  private func found(_ body: (inout CheckList) -> Void) -> [CheckItem] {
    var list = CheckList(deniesWarnings: false)
    body(&list)
    return list.items
  }

  // MARK: names

  private func lookUp(
    _ answer: NameResolver.Answer?, after time: Duration
  ) throws -> CheckItem {
    let lookUp = DNSChecks.LookUp(host: "redis.test", answer: answer, time: time)
    return try #require(found { DNSChecks.judge(lookUp, Self.server, &$0) }.first)
  }

  @Test func allAddressesOfANameAreSaid() throws {
    let four = Resolver.numeric(Endpoint(host: "10.0.0.1", port: 1))
    let six = Resolver.numeric(Endpoint(host: "fd00::1", port: 1))
    let both = try four.get() + six.get()
    let item = try lookUp(.success(both), after: .milliseconds(3))
    #expect(item.status == .ok && item.subject == "redis.test")
    #expect(item.message.contains("leads to 10.0.0.1, fd00::1 (IPv6), after 3ms"))
  }

  @Test func slowDeadAndUnknownNamesAreSaid() throws {
    let addresses = Resolver.numeric(Endpoint(host: "10.0.0.1", port: 1))
    let slow = try lookUp(addresses, after: .seconds(5))
    #expect(slow.status == .warning && slow.message.contains("5s: at most 1s is well"))
    let silent = try lookUp(nil, after: .seconds(10))
    #expect(silent.status == .problem && silent.message.contains("has no address after 10s"))
    let unknown = try lookUp(.failure(TransportError(.unresolved, "no such name")), after: .zero)
    #expect(unknown.status == .problem && unknown.key == "redis.host")
  }

  @Test func eachNameIsLookedUpOnceAndAddressesAreNot() async {
    let names = NameResolver { endpoint in
      Resolver.numeric(Endpoint(host: "10.0.0.9", port: endpoint.port))
    }
    func server(_ host: String, _ port: Int) -> CheckedServer {
      CheckedServer(
        name: "Redis", endpoint: Endpoint(host: host, port: port), security: nil, proxy: nil,
        key: "redis.host")
    }
    var list = CheckList(deniesWarnings: false)
    await DNSChecks.run(
      [server("b.test", 1), server("b.test", 2), server("127.0.0.1", 3), server("a.test", 1)],
      names: names, timeout: .seconds(60), &list)
    #expect(list.items.map(\.subject) == ["b.test", "a.test"])
    var none = CheckList(deniesWarnings: false)
    await DNSChecks.run([server("::1", 1)], names: names, timeout: .seconds(60), &none)
    #expect(
      none.items.map(\.message) == ["every server is named by its address: nothing is looked up"])
  }

  // MARK: handshakes

  private static let day: Int64 = 86_400

  private func certificate(_ name: String, days: Int64) -> CertificateSummary {
    CertificateSummary(name: name, issuer: "CA", beginsAt: 0, expiresAt: days * Self.day)
  }

  private func handshake(_ chain: [CertificateSummary]) -> [CheckItem] {
    let handshake = TLSHandshake(version: "TLS 1.3", applicationProtocol: "h2", chain: chain)
    return found {
      TLSChecks.judge(.done(handshake, .milliseconds(7)), Self.server, now: 0, &$0)
    }
  }

  @Test func aHandshakeSaysVersionProtocolAndEnd() {
    let items = handshake([certificate("redis.test", days: 14), certificate("CA", days: 900)])
    #expect(items.map(\.id) == ["tls.handshake", "tls.certificate"])
    #expect(items.allSatisfy { $0.status == .ok }, "\(items)")
    #expect(items[0].message.contains("TLS 1.3 and h2 (ALPN), after 7ms"))
    #expect(items[1].message.contains("signed by CA, a chain of 2, ends in 14 days"))
  }

  @Test func theFirstOfAChainToEndIsTheEndOfAll() {
    let late = handshake([certificate("redis.test", days: 13)])
    #expect(late.last?.status == .warning)
    let authority = handshake([certificate("redis.test", days: 90), certificate("CA", days: 3)])
    #expect(authority.last?.status == .warning)
    #expect(authority.last?.message.contains("3 days (its authority CA ends first)") == true)
  }

  @Test func aServerThatIsDownIsAnOutageAndAWrongCertificateIsNot() {
    func code(_ error: TransportError) -> Int32 {
      var list = CheckList(deniesWarnings: false)
      TLSChecks.judge(.failed(error), Self.server, now: 0, &list)
      return list.doctorExitCode.rawValue
    }
    #expect(code(TransportError(.unreachable, "refused")) == 69)
    #expect(code(TransportError(.tls, "not for this host")) == 1)
  }

  // MARK: certificates in files

  @Test func ourCertificatesEndsAreSaid() throws {
    let directory = try ScratchDirectory()
    let authority = try ThrowAwayAuthority(hosts: ["redis.test"], days: 100)
    let files = try authority.write(to: directory.path)
    var settings = Settings.defaults
    settings.redis.tls.enabled = true
    settings.redis.tls.certificateFile = files.certificate
    settings.redis.tls.keyFile = files.key
    settings.redis.tls.caFile = directory.file("none.pem")
    settings.apns.caFile = try directory.write("no PEM\n", to: "empty.pem")
    let begin = try #require(
      CertificateSummary.all(
        pem: String(
          decoding: BoundedFile.read(files.certificate, maximumBytes: 1 << 20).bytes,
          as: UTF8.self)
      ).first)
    func items(daysLeft: Int64) -> [CheckItem] {
      let now = (begin.expiresAt - daysLeft * Self.day - 1) * 1_000
      return found { CertificateFileChecks.run(settings, now: now, &$0) }
    }
    let good = items(daysLeft: 30)
    #expect(good.map(\.status) == [.ok, .problem, .problem], "\(good)")
    #expect(good[0].message.contains("ends in 30 days"))
    #expect(good.map(\.id) == ["tls.own_certificate", "tls.authorities", "tls.authorities"])
    #expect(items(daysLeft: 29).first?.status == .warning)
    #expect(items(daysLeft: -1).first?.status == .problem)
  }

  // MARK: which servers

  @Test func serversAreThoseOfTheProcess() throws {
    var settings = Settings.defaults
    settings.kafka.bootstrapServers = ["k1:9092", "[::1]:9092"]
    settings.redis.host = "redis.test"
    let worker = try CheckedServer.all(settings, for: .worker).map { "\($0.endpoint)" }
    #expect(
      worker == [
        "k1:9092", "[::1]:9092", "redis.test:6379", "api.push.apple.com:443",
        "api.sandbox.push.apple.com:443",
      ])
    let api = try CheckedServer.all(settings, for: .api).map { "\($0.endpoint)" }
    #expect(api == ["k1:9092", "[::1]:9092", "redis.test:6379"])
    settings.redis.cluster = ["a:1", "b:2"]
    #expect(
      try CheckedServer.all(settings, for: .fanout).map { "\($0.endpoint)" } == ["a:1", "b:2"])
    settings.redis.cluster = []
    settings.redis.sentinel.nodes = ["s:3"]
    #expect(try CheckedServer.all(settings, for: .fanout).map { "\($0.endpoint)" } == ["s:3"])
    settings.apns.proxy.host = "proxy.test"
    let apple = try CheckedServer.all(settings, for: .send)
    #expect(apple.map(\.dialled.host) == ["proxy.test", "proxy.test"])
  }

  /// Nobody knows which push services browsers will name, but the way to all of them leads there.
  @Test func theProxyOfWebPushIsOne() throws {
    var settings = Settings.defaults
    settings.webpush.vapidKeyFile = "vapid.pem"
    settings.webpush.proxy.host = "proxy.test"
    let servers = try CheckedServer.all(settings, for: .send)
    #expect(servers.last?.endpoint == Endpoint(host: "proxy.test", port: 3_128))
    #expect(servers.last?.key == "webpush.proxy.host")
  }
}
