import Deliver
import EventLoop
import FCM
import Pipeline
import Settings
import SingleRequests
import TLS
import Telemetry
import Text
import Threads
import Transport

/// One project of Firebase: the service account or the other source of tokens that its settings
/// lead to, now and whenever another is put in its place.
package final class FCMCredentialFiles: Sendable {
  package let account: FCMCredentials
  package let group: FCMGroup
  /// Of its apps; nil where there is no other project.
  package let name: String?

  private let project: FCMProject
  private let origin: TokenOrigin
  private let tokens: AccessTokenSource
  private let state: ThreadLock<State>

  private struct State {
    /// Of the service account that is used: its key itself is not kept.
    var hash: Int
    /// Why what was found last is not used; nil when it is.
    var refusal: String?
  }

  /// Of each project; none where nothing goes to Android.
  package static func all(_ settings: Settings) throws(SettingsError) -> [FCMCredentialFiles] {
    let groups = FCMGroup.all(settings.fcm)
    var all: [FCMCredentialFiles] = []
    for group in groups {
      all.append(
        try FCMCredentialFiles(group, settings.fcm, name: groups.count > 1 ? group.name : nil))
    }
    return all
  }

  init(_ group: FCMGroup, _ fcm: Settings.FCM, name: String?) throws(SettingsError) {
    self.group = group
    self.name = name
    let (origin, hash) = try Self.open(group, fcm)
    let project = FCMProject(try Self.projectID(group, origin))
    self.origin = origin
    self.project = project
    let wallClock: @Sendable () -> Int64 = { WallClock.nowMilliseconds() }
    let exchanges = try TokenExchanges(
      caFile: fcm.caFile, proxy: Assembly.proxy(fcm.proxy), wallClock: wallClock)
    tokens = AccessTokenSource(
      origin, monotonic: { MonotonicClock.nowNanoseconds() }, wallClock: wallClock,
      randomNumber: { .random(in: .min ... .max) },
      exchange: { request in
        // A token is of no use before the project is known.
        if let failure = await exchanges.learn(project, from: fcm.metadataHost) { return failure }
        return await exchanges.reply(to: request)
      })
    state = ThreadLock(State(hash: hash))
    account = FCMCredentials(
      project: project, messagesPerMinute: group.account.messagesPerMinute ?? 0, tokens: tokens,
      wallClock: wallClock)
  }

  private static func open(
    _ group: FCMGroup, _ fcm: Settings.FCM
  ) throws(SettingsError) -> (TokenOrigin, hash: Int) {
    let account = group.account
    if account.metadata { return (.metadata(host: fcm.metadataHost), 0) }
    if !account.tokenCommand.isEmpty { return (.command(account.tokenCommand), 0) }
    if let path = account.tokenFile { return (.file(path: path), 0) }
    do throws(SettingComplaint) {
      let (account, hash) = try read(account.serviceAccountFile ?? "")
      return (.account(account), hash)
    } catch {
      throw Assembly.problem(group.key, error.message, hint: error.hint)
    }
  }

  /// Nil: the metadata server says it later.
  private static func projectID(
    _ group: FCMGroup, _ origin: TokenOrigin
  ) throws(SettingsError) -> String? {
    var id = group.account.project
    if id == nil, case .account(let account) = origin { id = account.projectID }
    if id == nil, case .metadata = origin { return nil }
    guard let id, FCMProject.isID(id) else {
      throw Assembly.problem(group.prefix + "project", "is not the id of a Firebase project")
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

  // MARK: for operators

  /// `project p-1`, as far as it is known.
  package var projectName: String { project.id.map { "project \($0)" } ?? "unknown project" }

  /// From where its tokens come.
  package var sourceName: String {
    switch origin {
    case .account(let account): "service account \(account.email), key \(account.keyID)"
    case .file(let path): "token file \(Shown.path(path))"
    case .command(let words): "command \(Shown.path(words.first ?? ""))"
    case .metadata(let host): "metadata server \(host)"
    }
  }

  // MARK: while the worker runs

  /// Uses the service account that is there now, if it can be used, and asks for a token before the
  /// one in use ends. Says each change once.
  package func look() -> CredentialChange? {
    let change = lookAtAccount()
    tokens.askIfDue(now: WallClock.nowMilliseconds())
    return change?.of(name)
  }

  private func lookAtAccount() -> CredentialChange? {
    guard case .account = origin else { return nil }
    return state.withLock { state in
      do throws(SettingComplaint) {
        let (account, hash) = try Self.read(group.account.serviceAccountFile ?? "")
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
    let message =
      #"{"validate_only":true,"message":{"token":"fanfare-check","data":{"check":"1"}}}"#
    let reply: AppleReply
    do throws(CredentialProblem) {
      reply = try await send(message, to: target, timeout: timeout)
    } catch {
      return .refused(error.reason)
    }
    guard let status = reply.status else { return .unreachable(reply.failure ?? "no answer") }
    let words = reply.object?["error"]?.object?["message"]?.string.map { ": " + ShortText.of($0) }
    switch status {
    case 200, 400: return .taken
    case 401, 403, 404: return .refused("FCM answers \(status)\(words ?? "")")
    default: return .unreachable("FCM answers \(status)\(words ?? "")")
    }
  }

  /// Gets an access token and sends one request of "projects.messages.send".
  /// - Parameters:
  ///   - body: JSON.
  ///   - target: `DeliverOptions.routes` of FCM.
  ///   - timeout: of the token and of FCM's answer, each.
  package func send(
    _ body: String, to target: RouteTarget, timeout: Duration
  ) async throws(CredentialProblem) -> AppleReply {
    let token = try await token(timeout)
    return await SingleRequest.ask(
      request(body), on: target,
      authorization: String(decoding: token.authorization.bytes, as: UTF8.self), timeout: timeout)
  }

  /// That request, without the access token.
  package func request(_ body: String) -> AppleRequest {
    AppleRequest(
      path: project.path ?? "/v1/projects/-/messages:send",
      fields: [.init("content-type", "application/json")], body: body)
  }

  private func token(_ timeout: Duration) async throws(CredentialProblem) -> AccessToken {
    for _ in 0..<max(1, Int(timeout / Self.interval)) {
      do throws(CredentialProblem) {
        return try tokens.token(now: WallClock.nowMilliseconds())
      } catch {
        if !error.mayEndAtOnce { throw error }
      }
      try? await Task.sleep(for: Self.interval)
    }
    throw CredentialProblem(
      .noToken,
      "no access token within \(DurationText.text(timeout))"
        + (tokens.problem.map { ": \($0)" } ?? ""))
  }
}
