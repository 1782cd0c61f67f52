import Assembly
import EventLoop
import Settings
import TLS
import Terminal
import Text
import Transport

/// Whether each server that speaks TLS shows a certificate that holds, and how long it will; the
/// same of our own certificates and authorities.
enum TLSChecks {
  /// Those that renew certificates by themselves do it weeks before the end.
  private static let fewDays: Int64 = 14
  private static let day: Int64 = 86_400

  static func run(
    _ servers: [CheckedServer], _ settings: Settings, timeout: Duration, now: Int64,
    _ list: inout CheckList
  ) async {
    let speaking = servers.filter { $0.security != nil }
    if speaking.isEmpty { list.ok("tls.handshake", "no server is reached by TLS") }
    for (server, outcome) in zip(speaking, await outcomes(speaking, timeout)) {
      judge(outcome, server, now: now, &list)
    }
    CertificateFileChecks.run(settings, now: now, &list)
  }

  /// All at the same time, in the order of the servers.
  private static func outcomes(
    _ servers: [CheckedServer], _ timeout: Duration
  ) async -> [TLSProbe.Outcome] {
    await withTaskGroup(of: (Int, TLSProbe.Outcome).self) { group in
      for (index, server) in servers.enumerated() {
        group.addTask {
          let outcome = await EventLoop.temporary("tls") {
            (_: isolated LoopActor, loop: EventLoop) async -> TLSProbe.Outcome in
            await TLSProbe(server, loop: loop).run(timeout: timeout)
          }
          return (index, outcome)
        }
      }
      var all: [(Int, TLSProbe.Outcome)] = []
      for await one in group { all.append(one) }
      return all.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  /// - Parameter now: ms since 1970.
  static func judge(
    _ outcome: TLSProbe.Outcome, _ server: CheckedServer, now: Int64, _ list: inout CheckList
  ) {
    let subject = "\(server.endpoint)"
    let name = "\(subject) (\(server.name))"
    switch outcome {
    case .failed(let error):
      list.problem(
        "tls.handshake", error.code == .tls ? .dependency : .outage,
        "\(server.name): \(error.description)", of: subject, key: server.key,
        hint: error.cause?.hint ?? hint(error.code, server))
    case .done(let handshake, let time):
      let spoken = handshake.applicationProtocol.map { " and \($0) (ALPN)" } ?? ""
      list.ok(
        "tls.handshake",
        "\(name): \(handshake.version)\(spoken), after \(DurationText.text(time))", of: subject)
      certificates(handshake.chain, name, subject, now / 1_000, &list)
    }
  }

  private static func hint(_ code: TransportError.Code, _ server: CheckedServer) -> String? {
    switch code {
    case .unresolved: "is the host's name right, and does DNS work here?"
    case .unreachable, .timeout: "does the server run, and is the way to this port open?"
    case .proxy: "\(server.key.prefix { $0 != "." }).proxy.host and port name the proxy"
    default: "is TLS spoken at this port?"
    }
  }

  /// The first of the chain that ends is the end of all.
  private static func certificates(
    _ chain: [CertificateSummary], _ name: String, _ subject: String, _ now: Int64,
    _ list: inout CheckList
  ) {
    guard let own = chain.first, let first = chain.min(by: { $0.expiresAt < $1.expiresAt }) else {
      return list.skipped("tls.certificate", "\(name) shows no certificate", of: subject)
    }
    let days = (first.expiresAt - now) / day
    let shown = own.name.isEmpty ? "a certificate without a common name" : own.name
    let which = first == own ? "" : " (its authority \(first.name) ends first)"
    let words =
      "\(name): \(shown), signed by \(own.issuer), a chain of \(chain.count), ends in "
      + "\(days) days\(which)"
    if days < fewDays {
      list.warning(
        "tls.certificate", .dependency, "\(words): less than \(fewDays) is late", of: subject,
        hint: "whoever runs this server must renew its certificate")
    } else {
      list.ok("tls.certificate", words, of: subject)
    }
  }
}

/// The certificates that the settings name: those that we show, and those that we trust. Apple's
/// are in `FileChecks`.
enum CertificateFileChecks {
  private static let fewDays: Int64 = 30
  private static let maximumBytes = 4 << 20

  private enum Kind { case own, authorities }

  static func run(_ settings: Settings, now: Int64, _ list: inout CheckList) {
    let redis = settings.redis
    let kafka = settings.kafka
    var files: [(key: String, path: String?, kind: Kind)] = []
    if redis.tls.enabled {
      files.append(("redis.tls.certificate_file", redis.tls.certificateFile, .own))
      files.append(("redis.tls.ca_file", redis.tls.caFile, .authorities))
    }
    if !redis.sentinel.nodes.isEmpty, redis.tlsOfSentinels.enabled {
      files.append(
        ("redis.sentinel.tls.certificate_file", redis.sentinel.tls.certificateFile, .own))
      files.append(("redis.sentinel.tls.ca_file", redis.sentinel.tls.caFile, .authorities))
    }
    if kafka.security.securityProtocol.usesTLS {
      let own = kafka.properties["ssl.certificate.location"]
      files.append(("kafka.properties", own, .own))
      files.append(("kafka.security.ca_file", kafka.security.caFile, .authorities))
    }
    files.append(("apns.ca_file", settings.apns.caFile, .authorities))
    files.append(("fcm.ca_file", settings.fcm.caFile, .authorities))
    files.append(("webpush.ca_file", settings.webpush.caFile, .authorities))
    for file in files {
      guard let path = file.path else { continue }
      check(path, file.key, file.kind, now / 1_000, &list)
    }
  }

  private static func check(
    _ path: String, _ key: String, _ kind: Kind, _ now: Int64, _ list: inout CheckList
  ) {
    let id = kind == .own ? "tls.own_certificate" : "tls.authorities"
    let file: BoundedFile
    do {
      file = try BoundedFile.read(path, maximumBytes: maximumBytes)
    } catch {
      return list.problem(
        id, .configuration, error.message, of: path, key: key, hint: error.hint)
    }
    let all = CertificateSummary.all(pem: file.text)
    // A client shows the first; of authorities any that holds will do.
    let judged = kind == .own ? all.first : all.max { $0.expiresAt < $1.expiresAt }
    guard let judged else {
      return list.problem(
        id, .configuration, "\(Shown.path(path)) holds no certificate", of: path, key: key,
        hint: "it must be PEM")
    }
    judge(judged, count: all.count, id, path, key, now, &list)
  }

  private static func judge(
    _ certificate: CertificateSummary, count: Int, _ id: String, _ path: String, _ key: String,
    _ now: Int64, _ list: inout CheckList
  ) {
    let days = (certificate.expiresAt - now) / 86_400
    let several = count == 1 ? "" : ", the last of \(count) to end"
    let what = id == "tls.authorities" ? "authority" : "certificate"
    let words = "\(Shown.path(path)): the \(what) \(certificate.name)\(several)"
    if certificate.expiresAt <= now {
      list.problem(
        id, .configuration, "\(words) has expired", of: path, key: key,
        hint: "put a new one in its place")
    } else if days < fewDays {
      list.warning(
        id, .configuration, "\(words) ends in \(days) days: less than \(fewDays) is late",
        of: path, key: key, hint: "put a new one in its place")
    } else {
      list.ok(id, "\(words) ends in \(days) days", of: path)
    }
  }
}

/// One connection with its TLS handshake, and nothing on it. Confined to its loop.
final class TLSProbe {
  enum Outcome: Sendable {
    /// The time since the first step, look-up of the name included.
    case done(TLSHandshake, Duration)
    case failed(TransportError)
  }

  private let server: CheckedServer
  private let loop: EventLoop
  private var connection: Connection?
  private var continuation: CheckedContinuation<Outcome, Never>?
  private var startedAt: UInt64 = 0

  init(_ server: CheckedServer, loop: EventLoop) {
    self.server = server
    self.loop = loop
  }

  /// Once. The name and the rest have `timeout` each.
  func run(timeout: Duration) async -> Outcome {
    var options = TransportOptions(connectTimeout: timeout, resolveTimeout: timeout)
    options.proxy = server.proxy
    startedAt = loop.clock
    let outcome = await withCheckedContinuation { continuation in
      self.continuation = continuation
      let connection = Connection(
        to: server.endpoint, tls: server.security, options: options, loop: loop, delegate: self)
      self.connection = connection
      connection.connect()
    }
    connection?.close()
    return outcome
  }

  private func finish(_ outcome: Outcome) {
    continuation?.resume(returning: outcome)
    continuation = nil
  }
}

extension TLSProbe: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) {
    guard let handshake = connection.handshake else {
      return finish(.failed(TransportError(.tls, "\(server.endpoint) agreed on no TLS")))
    }
    finish(.done(handshake, .nanoseconds(Int64(clamping: loop.clock &- startedAt))))
  }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {}

  func connectionDrained(_ connection: Connection) {}

  func connectionClosed(_ connection: Connection, error: TransportError?) {
    finish(
      .failed(
        error ?? TransportError(.closedByPeer, "\(server.endpoint) closed the connection")))
  }
}
