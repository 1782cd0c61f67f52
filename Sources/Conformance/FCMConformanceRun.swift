import Deliver
import FCM
import FCMSimulator
import SingleRequests
import TLS
import Transport

/// Asks an FCM simulator every row of the tables, over the wire, each on a connection of its own.
package struct FCMConformanceRun: Sendable {
  private static let timeout: Duration = .seconds(10)

  private let account: AssertedAccount
  private let projectNumber: String
  private let stranger: RS256Key
  private let route: RouteTarget
  private let nowSeconds: Int64

  /// - Parameters:
  ///   - serviceAccount: the content of the file that the simulator made.
  ///   - projectNumber: as in the simulator's options.
  ///   - nowSeconds: since 1970.
  package init(
    _ address: FCMSimulatorAddress, serviceAccount: [UInt8], projectNumber: String,
    nowSeconds: Int64
  ) throws {
    self.nowSeconds = nowSeconds
    self.projectNumber = projectNumber
    account = try AssertedAccount(file: serviceAccount)
    stranger = try RS256Key(pem: try RS256KeyPair.generate().privateKeyPEM)
    route = RouteTarget(
      endpoint: Endpoint(host: address.host, port: address.port),
      tls: try TLSClientContext(caFile: address.authorityFile, alpn: ["h2"]))
  }

  package func results() async -> [ConformanceResult] {
    let tokens = Tokens(
      usual: await accessToken(AssertedAccount.messaging),
      wide: await accessToken(AssertedAccount.wide),
      other: await accessToken(AssertedAccount.other),
      expiring: await accessToken(AssertedAccount.messaging))
    var results: [ConformanceResult] = []
    for row in AccessTokenConformance.rows(account, stranger: stranger, nowSeconds: nowSeconds) {
      let reply = await ask(row.request, tokens.authorization(row.credential))
      let does = WorkerReaction(toTokenReply: reply, nowSeconds: nowSeconds)
      results.append(row.result(reply, worker: (does, .wanted(toTokenEndpoint: row.answer))))
    }
    let worker = worker
    for row in MessageConformance.rows(
      projectID: account.projectID, projectNumber: projectNumber)
    {
      let reply = await ask(row.request, tokens.authorization(row.credential))
      let does = WorkerReaction(to: reply, of: worker)
      results.append(row.result(reply, worker: (does, .wanted(toFCM: row.expected))))
    }
    return results
  }

  /// A worker's account, which is asked for the meaning of answers alone.
  private var worker: FCMCredentials {
    let milliseconds = nowSeconds * 1_000
    let tokens = AccessTokenSource(
      .file(path: ""), monotonic: { 0 }, wallClock: { milliseconds }, randomNumber: { 0 },
      exchange: { _ in .failure("nobody asks") })
    return FCMCredentials(
      project: FCMProject(account.projectID), tokens: tokens, wallClock: { milliseconds })
  }

  /// The access tokens of the credentials.
  private struct Tokens {
    let usual: String
    let wide: String
    let other: String
    let expiring: String

    func authorization(_ credential: FCMConformanceRow.Credential) -> String? {
      switch credential {
      case .valid: "Bearer " + usual
      case .absent: nil
      case .unknown: "Bearer " + usual + "x"
      case .lowerCase: "bearer " + usual
      case .notBearer: "Basic " + usual
      case .wideScope: "Bearer " + wide
      case .otherScope: "Bearer " + other
      case .expiring: "Bearer " + expiring
      }
    }
  }

  /// An unknown one when none was issued, which the rows then find.
  private func accessToken(_ scope: String) async -> String {
    let assertion = account.assertion(nowSeconds, ["scope": .string(scope)])
    let reply = await ask(AccessTokenConformance.exchange(assertion), nil)
    return reply.object?["access_token"]?.string ?? "none"
  }

  private func ask(_ request: AppleRequest, _ authorization: String?) async -> AppleReply {
    await SingleRequest.ask(
      request, on: route, authorization: authorization, timeout: Self.timeout)
  }
}
