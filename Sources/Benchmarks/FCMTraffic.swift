import Deliver
import EventLoop
import FCM
import Model
import Processes
import ServerProcesses
import SingleRequests
import TLS
import Telemetry

/// The same push as `BenchTraffic`'s, as FCM gets it: one path for all, and the token in the body.
enum FCMTraffic {
  /// h2load gets one access token for all its runs. Streams are as many as Apple's simulator has.
  static let simulatorOptions = ["--streams", "1000", "--access-token-lifetime", "24h"]

  private static let tokenTimeout: Duration = .seconds(10)
  private static let tokenPath = "/token"

  /// 163 characters, as Firebase's have; the last 16 differ.
  static func token(_ number: Int) -> String {
    tokenStart + SenderTraffic.tokenEnd(number)
  }

  private static let tokenStart =
    "dQw4w9WgXcQ_kJQ-bench0:APA91b" + String(repeating: "Hx7-Tz_2k", count: 13) + "A"

  /// As Render makes it of a template for Apple: what comes after the time to live.
  static let payload = NumberedPayload(
    #","priority":"HIGH","notification":{"sound":"default","tag":"live-s42"}},"#
      + #""notification":{"title":"Aiko is live","body":"Hi "#,
    #", tune in now: Speedrun night"},"data":{"stream.id":"b-991","stream.streamer":"s42"}"#)

  /// A whole body, of the size of each that the sender sends.
  static let body =
    Array(#"{"message":{"token":"\#(token(0))","android":{"ttl":"3600s""#.utf8) + payload.bytes
    + Array("}}".utf8)

  static func traffic() throws(LocalRunError) -> SenderTraffic {
    let binding = try BenchTraffic.binding(.fcm, token: token(0))
    return SenderTraffic(
      Array(repeating: binding, count: SenderBatches.batchPushes),
      distinctDigits: BenchTraffic.distinctDigits, payload: payload)
  }

  static func account(
    _ simulator: SimulatorProcess, _ tokens: AccessTokenSource
  ) throws(LocalRunError) -> FCMCredentials {
    FCMCredentials(
      project: FCMProject(try simulator.text("project_id")), tokens: tokens,
      wallClock: { WallClock.nowMilliseconds() })
  }

  static func request(
    _ simulator: SimulatorProcess, _ token: AccessToken
  ) throws(LocalRunError) -> LoadRequest {
    let path = "/v1/projects/\(try simulator.text("project_id"))/messages:send"
    let authorization = String(decoding: token.authorization.bytes, as: UTF8.self)
    return LoadRequest(body: body, paths: .one(path)) {
      [("content-type", "application/json"), ("authorization", authorization)]
    }
  }

  // MARK: access tokens

  /// Those of the simulator's service account, from its token endpoint.
  /// - Parameter randomNumber: any number.
  static func tokens(
    _ simulator: SimulatorProcess, randomNumber: UInt64
  ) throws(LocalRunError) -> AccessTokenSource {
    let file = try simulator.text("service_account_file")
    guard let text = ScratchDirectory.read(file) else {
      throw LocalRunError(.failed, "\(file) cannot be read")
    }
    let account: ServiceAccount
    do {
      account = try ServiceAccount(file: Array(text.utf8)) { pem in
        let key = try RS256Key(pem: pem)
        return { try key.sign($0) }
      }
    } catch {
      throw LocalRunError(.failed, "\(file): \(error)")
    }
    let target = RouteTarget(endpoint: simulator.endpoint, tls: simulator.trust)
    return AccessTokenSource(
      .account(account), monotonic: { MonotonicClock.nowNanoseconds() },
      wallClock: { WallClock.nowMilliseconds() }, randomNumber: { randomNumber },
      exchange: { await reply(to: $0, of: target) })
  }

  /// Waits for the first token.
  static func firstToken(
    of tokens: AccessTokenSource, on loop: EventLoop
  ) async throws(LocalRunError) -> AccessToken {
    let deadline = loop.clock + tokenTimeout.nanoseconds
    while true {
      do throws(CredentialProblem) {
        return try tokens.token(now: WallClock.nowMilliseconds())
      } catch {
        guard error.mayEndAtOnce, loop.clock < deadline else {
          throw LocalRunError(.failed, "the FCM simulator: \(error.reason)")
        }
      }
      await loop.wait(.milliseconds(5))
    }
  }

  private static func reply(
    to request: TokenRequest, of target: RouteTarget
  ) async -> TokenReply {
    guard case .http(let http) = request else { return .failure("no request of an account") }
    let reply = await SingleRequest.ask(
      AppleRequest(
        method: http.method, path: tokenPath, fields: http.fields.map { .init($0.name, $0.value) },
        body: String(decoding: http.body, as: UTF8.self),
        maximumAnswerBytes: TokenReply.maximumBytes),
      on: target, authorization: nil, timeout: tokenTimeout)
    guard let status = reply.status else { return .failure(reply.failure ?? "no answer") }
    return .answer(status: status, body: reply.body, retryAfter: nil)
  }
}
