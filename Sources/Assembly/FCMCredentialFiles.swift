import Deliver
import EventLoop
import FCM
import Model
import Pipeline
import Settings
import SingleRequests
import TLS
import Telemetry
import Text
import Threads
import Transport

/// The service account, or the file of a token, that `fcm` leads to, now and whenever another is
/// put in its place.
package final class FCMCredentialFiles: Sendable {
  package let account: FCMCredentials

  private let settings: Settings.FCM
  private let project: String
  private let tokens: AccessTokenSource
  private let state: ThreadLock<State>

  private struct State {
    /// Of the service account that is used: its key itself is not kept.
    var hash: Int
    /// Why what was found last is not used; nil when it is.
    var refusal: String?
  }

  /// Nil where nothing goes to Android.
  package init?(_ settings: Settings) throws(SettingsError) {
    let fcm = settings.fcm
    guard fcm.isConfigured else { return nil }
    self.settings = fcm
    let (origin, hash, project) = try Self.open(fcm)
    self.project = project
    let exchange = try TokenExchanges(caFile: fcm.caFile)
    tokens = AccessTokenSource(
      origin, monotonic: { MonotonicClock.nowNanoseconds() },
      randomNumber: { .random(in: .min ... .max) }, exchange: { await exchange.reply(to: $0) })
    state = ThreadLock(State(hash: hash))
    account = FCMCredentials(
      project: project, tokens: tokens, wallClock: { WallClock.nowMilliseconds() })
  }

  private static func open(
    _ fcm: Settings.FCM
  ) throws(SettingsError) -> (TokenOrigin, hash: Int, project: String) {
    if let path = fcm.tokenFile {
      return (.file(path: path), 0, try project(fcm.project ?? "", of: "fcm.project"))
    }
    let account: ServiceAccount
    let hash: Int
    do throws(SettingComplaint) {
      (account, hash) = try read(fcm.serviceAccountFile ?? "")
    } catch {
      throw Assembly.problem("fcm.service_account_file", error.message, hint: error.hint)
    }
    let id = try project(fcm.project ?? account.projectID, of: "fcm.project")
    return (.account(account), hash, id)
  }

  private static func project(_ id: String, of key: String) throws(SettingsError) -> String {
    guard ServiceAccount.isProject(id) else {
      throw Assembly.problem(key, "is not the id of a Firebase project")
    }
    return id
  }

  private static func read(_ path: String) throws(SettingComplaint) -> (ServiceAccount, Int) {
    let file = try BoundedFile.read(path, maximumBytes: ServiceAccount.maximumBytes)
    do {
      let account = try ServiceAccount(file: file.bytes) { pem in
        let key = try RS256Key(pem: pem)
        return { try key.sign($0) }
      }
      return (account, file.bytes.hashValue)
    } catch {
      throw SettingComplaint("\(Shown.path(path)): \(error)")
    }
  }

  // MARK: while the worker runs

  /// Uses the service account that is there now, if it can be used, and asks for a token before the
  /// one in use ends. Says each change once.
  package func look() -> CredentialChange? {
    let change = settings.tokenFile == nil ? lookAtAccount() : nil
    tokens.askIfDue(now: WallClock.nowMilliseconds())
    return change
  }

  private func lookAtAccount() -> CredentialChange? {
    state.withLock { state in
      do throws(SettingComplaint) {
        let (account, hash) = try Self.read(settings.serviceAccountFile ?? "")
        state.refusal = nil
        guard hash != state.hash else { return nil }
        state.hash = hash
        tokens.use(.account(account))
        return .replaced("key \(account.keyID) of \(account.email)")
      } catch {
        guard state.refusal != error.message else { return nil }
        state.refusal = error.message
        return .refused(error.message)
      }
    }
  }

  package var isUnfit: Bool { state.withLock { $0.refusal != nil } }
}

/// Asks a token server, or reads a file, for an access token.
struct TokenExchanges: Sendable {
  /// With the connection. Pushes wait for the first token only.
  private static let timeout: Duration = .seconds(10)

  private let tls: TLSClientContext

  init(caFile: String?) throws(SettingsError) {
    tls = try Assembly.security("fcm.ca_file", caFile, protocols: ["h2"])
  }

  func reply(to request: TokenRequest) async -> TokenReply {
    switch request {
    case .file(let path):
      do throws(SettingComplaint) {
        return .text(try BoundedFile.read(path, maximumBytes: TokenReply.maximumBytes).bytes)
      } catch {
        return .failure(error.message)
      }
    case .command: return .failure("no program is run for a token")
    case .http(let http): return await ask(http)
    }
  }

  private func ask(_ http: TokenRequest.HTTP) async -> TokenReply {
    guard let address = HTTPSAddress(http.url) else {
      return .failure("\(ShortText.of(http.url)) is no https:// address")
    }
    let request = AppleRequest(
      method: http.method, path: address.path, fields: http.fields.map { .init($0.name, $0.value) },
      body: String(decoding: http.body, as: UTF8.self),
      maximumAnswerBytes: TokenReply.maximumBytes)
    let reply = await SingleRequest.ask(
      request, on: RouteTarget(endpoint: address.endpoint, tls: tls), authorization: nil,
      timeout: Self.timeout)
    guard let status = reply.status else {
      return .failure("\(address.endpoint): \(reply.failure ?? "no answer")")
    }
    let retryAfter = reply.field("retry-after").flatMap { value in
      Array(value.utf8).withUnsafeBytes { bytes in
        RetryAfter.parse(bytes, now: WallClock.nowMilliseconds())
      }
    }
    return .answer(status: status, body: reply.body, retryAfter: retryAfter)
  }
}

/// `https://host:port/path`, as a file of a service account names its token server.
struct HTTPSAddress: Equatable {
  let endpoint: Endpoint
  let path: String

  init?(_ url: String) {
    let scheme = "https://"
    guard url.hasPrefix(scheme) else { return nil }
    let rest = url.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let path = rest.dropFirst(authority.count).prefix { $0 != "#" }
    self.path = path.hasPrefix("/") ? String(path) : "/" + path
    let fields = authority.split(separator: ":", omittingEmptySubsequences: false)
    switch fields.count {
    case 1: endpoint = Endpoint(host: String(authority), port: 443)
    case 2:
      guard let port = Int(fields[1]), (1...65_535).contains(port) else { return nil }
      endpoint = Endpoint(host: String(fields[0]), port: port)
    default: return nil
    }
    guard !endpoint.host.isEmpty, !endpoint.host.contains("@") else { return nil }
  }
}

extension FCMCredentialFiles {
  /// FCM's answer to a message that is for nobody.
  package enum Verdict: Sendable, Equatable {
    /// It speaks of the token of the device, which cannot exist: ours was taken.
    case taken
    /// It, or the token server, does not take our credentials; in words.
    case refused(String)
    /// No answer, or one that FCM never gives; in words.
    case unreachable(String)
  }

  /// Between two looks whether the token is there.
  private static let interval: Duration = .milliseconds(50)

  /// Gets an access token and shows it to FCM (`validate_only`: nothing is delivered).
  /// - Parameter target: `DeliverOptions.routes` of FCM.
  package func ask(_ target: RouteTarget, timeout: Duration) async -> Verdict {
    var problem = "no access token within \(DurationText.text(timeout))"
    for _ in 0..<max(1, Int(timeout / Self.interval)) {
      do throws(CredentialProblem) {
        let token = try tokens.token(now: WallClock.nowMilliseconds())
        return await ask(
          target, String(decoding: token.authorization.bytes, as: UTF8.self), timeout)
      } catch {
        problem = error.reason
        if !error.mayEndAtOnce { return .refused(problem) }
      }
      try? await Task.sleep(for: Self.interval)
    }
    return .refused(problem)
  }

  private func ask(
    _ target: RouteTarget, _ authorization: String, _ timeout: Duration
  ) async -> Verdict {
    let reply = await SingleRequest.ask(
      AppleRequest(
        path: "/v1/projects/\(project)/messages:send",
        fields: [.init("content-type", "application/json")],
        body: #"{"validate_only":true,"message":{"token":"fanfare-check","data":{"check":"1"}}}"#),
      on: target, authorization: authorization, timeout: timeout)
    guard let status = reply.status else { return .unreachable(reply.failure ?? "no answer") }
    let words = reply.object?["error"]?.object?["message"]?.string.map { ": " + ShortText.of($0) }
    switch status {
    case 200, 400: return .taken
    case 401, 403, 404: return .refused("FCM answers \(status)\(words ?? "")")
    default: return .unreachable("FCM answers \(status)\(words ?? "")")
    }
  }
}
