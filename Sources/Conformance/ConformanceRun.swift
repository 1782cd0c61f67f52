import APNsSimulator
import Deliver
import SingleRequests
import TLS
import Text
import Transport

/// Asks a simulator every row of the tables, over the wire, each on a connection of its own.
package struct ConformanceRun: Sendable {
  /// The content of the simulator's files for its clients, PEM.
  package struct Files: Sendable {
    package let key: String
    package let certificate: String
    package let misplacedCertificate: String

    package init(key: String, certificate: String, misplacedCertificate: String) {
      self.key = key
      self.certificate = certificate
      self.misplacedCertificate = misplacedCertificate
    }
  }

  private static let timeout: Duration = .seconds(10)

  private let address: APNsSimulatorAddress
  private let route: RouteTarget
  /// In the place of the route's, for connections that show a certificate.
  private let certificates: [ConformanceRow.Credential: TLSClientContext]
  private let key: ES256Key
  private let otherKey: ES256Key
  private let nowSeconds: Int64

  /// - Parameters:
  ///   - files: what the simulator made for its clients.
  ///   - nowSeconds: since 1970.
  package init(
    _ address: APNsSimulatorAddress, _ files: Files, nowSeconds: Int64
  ) throws(TLSError) {
    self.address = address
    self.nowSeconds = nowSeconds
    key = try ES256Key(pem: files.key)
    otherKey = try ES256Key.generate()
    route = RouteTarget(
      endpoint: Endpoint(host: address.host, port: address.port),
      tls: try TLSClientContext(caFile: address.authorityFile, alpn: ["h2"]))
    let strange = try ThrowAwayAuthority(hosts: []).client(
      subjectID: PushConformance.topic, topics: nil)
    certificates = [
      .certificate: try Self.security(address, files.certificate),
      .misplacedCertificate: try Self.security(address, files.misplacedCertificate),
      .strangeCertificate: try Self.security(address, strange),
    ]
  }

  /// The simulator has `PushConformance.script` as its script.
  package func results() async -> [ConformanceResult] {
    var results: [ConformanceResult] = []
    for row in PushConformance.rows(nowSeconds: nowSeconds) { results.append(await result(row)) }
    let channels = ChannelConformance.Channels(
      storesNothing: await make(.none), storesLast: await make(.last), spare: await make(.none))
    for row in ChannelConformance.rows(channels, nowSeconds: nowSeconds) {
      results.append(await result(row))
    }
    return results
  }

  private func result(_ row: ConformanceRow) async -> ConformanceResult {
    row.result(await ask(row))
  }

  /// Empty when none was made, which the rows then find.
  private func make(_ storage: ChannelRequests.Storage) async -> String {
    let request = ChannelRequests.create(app: ChannelConformance.app, storage)
    return await ask(ConformanceRow("", request, 201)).field("apns-channel-id") ?? ""
  }

  private func ask(_ row: ConformanceRow) async -> AppleReply {
    var route = route
    route.tls = certificates[row.credential] ?? route.tls
    return await SingleRequest.ask(
      row.request, on: route, authorization: authorization(row.credential), timeout: Self.timeout)
  }

  // MARK: credentials

  private static func security(
    _ address: APNsSimulatorAddress, _ pem: String
  ) throws(TLSError) -> TLSClientContext {
    try TLSClientContext(
      caFile: address.authorityFile, alpn: ["h2"],
      certificate: try ClientCertificate(file: Array(pem.utf8), passphrase: nil))
  }

  private func authorization(_ credential: ConformanceRow.Credential) -> String? {
    switch credential {
    case .valid: "bearer " + token()
    case .absent, .certificate, .strangeCertificate, .misplacedCertificate: nil
    case .notBearer: token()
    case .malformed: "bearer a.b.c"
    case .expired: "bearer " + token(age: 3_600 + 600)
    case .early: "bearer " + token(age: -3_600)
    case .otherTeam: "bearer " + token(team: "OTHERTEAM1")
    case .otherKey: "bearer " + token(key: otherKey)
    }
  }

  private func token(age: Int64 = 0, team: String? = nil, key: ES256Key? = nil) -> String {
    let header = #"{"alg":"ES256","kid":"\#(address.keyID)"}"#
    let claims = #"{"iss":"\#(team ?? address.teamID)","iat":\#(nowSeconds - age)}"#
    let message = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
    let signature = try? (key ?? self.key).sign(Array(message.utf8))
    return message + "." + Base64URL.encode(signature ?? [])
  }
}
