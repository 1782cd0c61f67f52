import JSON
import SingleRequests

/// One rule of FCM's or of Google's token endpoint, a request that keeps or breaks it, and the
/// answer it must get.
package struct FCMConformanceRow: Sendable {
  /// The access token that a request comes with.
  package enum Credential: Sendable {
    case valid, absent, unknown
    /// A valid one, with the scheme in lower case; with another scheme.
    case lowerCase, notBearer
    /// A valid one, of the wide scope; of a scope for another service.
    case wideScope, otherScope
    /// One that the first request with it ends.
    case expiring
  }

  /// Further content that the answer must carry.
  package enum Carried: Sendable, Equatable {
    case nothing
    /// The field of BadRequest; the reason of ErrorInfo; the subject of QuotaFailure.
    case field(String)
    case reason(String)
    case subject(String)
    /// A field of the head; of this value, unless nil.
    case header(String, String?)
    /// The name of the message that was accepted begins so.
    case name(String)
    /// An access token, for at most an hour.
    case accessToken
  }

  package let rule: String
  package let request: AppleRequest
  let credential: Credential
  /// `404 NOT_FOUND UNREGISTERED`: the status, the name of google.rpc.Code or of the OAuth error,
  /// and the code of FcmError, without those that the answer does not have.
  package let answer: String
  package let carried: Carried

  init(
    _ rule: String, _ request: AppleRequest, _ answer: String, credential: Credential = .valid,
    carries carried: Carried = .nothing
  ) {
    self.rule = rule
    self.request = request
    self.credential = credential
    self.answer = answer
    self.carried = carried
  }

  func result(
    _ reply: AppleReply, worker: (does: WorkerReaction?, ought: WorkerReaction?)
  ) -> ConformanceResult {
    let verdict = FCMVerdict(reply)
    return ConformanceResult(
      rule: rule, request: request, answer: verdict.shown(for: carried), expected: expected,
      isAnswered: verdict.text == answer && verdict.holds(carried), worker: worker)
  }

  var expected: String {
    switch carried {
    case .nothing: answer
    case .field(let field): "\(answer) about \(field)"
    case .reason(let reason): "\(answer) for \(reason)"
    case .subject(let subject): "\(answer) of \(subject)"
    case .header(let name, let value): "\(answer) with \(name)\(value.map { ": \($0)" } ?? "")"
    case .name(let name): "\(answer) named \(name)…"
    case .accessToken: "\(answer) with an access token"
    }
  }
}

/// The parts of an answer that decide.
struct FCMVerdict {
  let text: String
  private let reply: AppleReply
  private let details: [JSONObject]

  init(_ reply: AppleReply) {
    self.reply = reply
    let object = reply.object
    let error = object?["error"]?.object
    details = error?["details"]?.array?.compactMap(\.object) ?? []
    guard let status = reply.status else {
      text = reply.failure ?? "no answer"
      return
    }
    let code = Self.detail(details, "google.firebase.fcm.v1.FcmError")?["errorCode"]?.string
    let name = error?["status"]?.string ?? object?["error"]?.string
    text = ["\(status)", name, code].compactMap(\.self).joined(separator: " ")
  }

  private static func detail(_ details: [JSONObject], _ type: String) -> JSONObject? {
    details.first { $0["@type"]?.string == "type.googleapis.com/" + type }
  }

  private var field: String? {
    Self.detail(details, "google.rpc.BadRequest")?["fieldViolations"]?.array?.first?
      .object?["field"]?.string
  }

  private var subject: String? {
    Self.detail(details, "google.rpc.QuotaFailure")?["violations"]?.array?.first?
      .object?["subject"]?.string
  }

  private var reason: String? {
    Self.detail(details, "google.rpc.ErrorInfo")?["reason"]?.string
  }

  func holds(_ carried: FCMConformanceRow.Carried) -> Bool {
    switch carried {
    case .nothing: true
    case .field(let name): field == name
    case .reason(let name): reason == name
    case .subject(let name): subject == name
    case .header(let name, let value):
      reply.field(name).map { found in value.map { $0 == found } ?? !found.isEmpty } ?? false
    case .name(let start): reply.object?["name"]?.string?.hasPrefix(start) == true
    case .accessToken:
      reply.object?["access_token"]?.string?.isEmpty == false
        && reply.object?["token_type"]?.string == "Bearer"
        && (1...3600).contains(reply.object?["expires_in"]?.integer ?? 0)
    }
  }

  /// The answer, with what it carries where a row asks for that.
  func shown(for carried: FCMConformanceRow.Carried) -> String {
    let found: String? =
      switch carried {
      case .field: field.map { "about \($0)" }
      case .reason: reason.map { "for \($0)" }
      case .subject: subject.map { "of \($0)" }
      case .nothing, .header, .name, .accessToken: nil
      }
    return [text, found].compactMap(\.self).joined(separator: " ")
  }
}
