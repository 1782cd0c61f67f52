import HTTP2
import Text

/// Response heads and bodies; those that repeat are made once.
final class AnswerHeads {
  private struct Prepared {
    let head: HTTP2FieldBlock
    let body: [UInt8]
  }

  /// Scripts may bring any number of different answers; the table need not keep them all.
  private static let mostKept = 1024

  private let accepted: HTTP2FieldBlock
  private var refusals: [FCMRefusal: Prepared] = [:]

  init() throws(HTTP2Error) { accepted = try Self.head(200) }

  func accept(_ session: HTTP2ServerSession, slot: Int, body: [UInt8]) {
    _ = body.withUnsafeBytes { session.respond(slot: slot, accepted, body: $0) }
  }

  func refuse(_ session: HTTP2ServerSession, slot: Int, _ refusal: FCMRefusal, nowSeconds: Int64) {
    guard let prepared = prepare(refusal, nowSeconds: nowSeconds) else {
      return session.reset(slot: slot, errorCode: HTTP2ErrorCode.internalError)
    }
    _ = prepared.body.withUnsafeBytes { session.respond(slot: slot, prepared.head, body: $0) }
  }

  /// An answer of the token endpoint.
  func answer(_ session: HTTP2ServerSession, slot: Int, _ answer: OAuthAnswer) {
    guard let head = try? Self.head(answer.status) else {
      return session.reset(slot: slot, errorCode: HTTP2ErrorCode.internalError)
    }
    let body = Array(answer.body.utf8)
    _ = body.withUnsafeBytes { session.respond(slot: slot, head, body: $0) }
  }

  private func prepare(_ refusal: FCMRefusal, nowSeconds: Int64) -> Prepared? {
    if let known = refusals[refusal] { return known }
    var retryAfter: String?
    var lasts = true
    switch refusal.retryAfter {
    case nil: break
    case .seconds(let seconds): retryAfter = String(seconds)
    case .date(let seconds):
      retryAfter = CivilTime.httpDate((nowSeconds + Int64(seconds)) * 1000)
      lasts = false
    }
    let head = try? Self.head(
      refusal.status, isHTML: refusal.body != nil, isChallenge: refusal.status == 401,
      retryAfter: retryAfter)
    guard let head else { return nil }
    let made = Prepared(head: head, body: Array(refusal.text.utf8))
    guard lasts else { return made }
    if refusals.count >= Self.mostKept { refusals.removeAll() }
    refusals[refusal] = made
    return made
  }

  private static func head(
    _ status: Int, isHTML: Bool = false, isChallenge: Bool = false, retryAfter: String? = nil
  ) throws(HTTP2Error) -> HTTP2FieldBlock {
    let type = isHTML ? "text/html; charset=UTF-8" : "application/json; charset=UTF-8"
    var fields: [(name: String, value: String, indexing: HTTP2Indexing)] = [
      (":status", String(status), .indexed), ("content-type", type, .indexed),
      ("vary", "Origin", .indexed), ("server", "ESF", .indexed),
      ("cache-control", "private", .indexed),
    ]
    if isChallenge {
      let challenge = "Bearer realm=\"https://accounts.google.com/\", error=\"invalid_token\""
      fields.append(("www-authenticate", challenge, .indexed))
    }
    if let retryAfter { fields.append(("retry-after", retryAfter, .indexed)) }
    return try HTTP2FieldBlock(fields, values: .copied)
  }
}
