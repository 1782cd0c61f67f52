import HTTP2
import JSON
import Text

/// Response heads and bodies, made once for each kind of answer.
final class AnswerHeads {
  private struct Prepared {
    let head: HTTP2FieldBlock
    let body: [UInt8]?
  }

  /// Index of the field that `apns-id` takes in every head.
  private static let identifierField = 1

  let accepted: HTTP2FieldBlock
  private let isDevelopment: Bool
  private var refusals: [Refusal: Prepared] = [:]

  init(isDevelopment: Bool) throws(HTTP2Error) {
    self.isDevelopment = isDevelopment
    accepted = try Self.head(status: 200, retryAfter: nil, isDevelopment: isDevelopment)
  }

  /// Answers `slot` with 200.
  func accept(
    _ session: HTTP2ServerSession, slot: Int, identifier: UnsafeRawBufferPointer,
    unique: UnsafeRawBufferPointer
  ) {
    _ = accepted.set(Self.identifierField, identifier)
    if isDevelopment { _ = accepted.set(Self.identifierField + 1, unique) }
    session.respond(slot: slot, accepted, body: UnsafeRawBufferPointer(start: nil, count: 0))
  }

  func refuse(
    _ session: HTTP2ServerSession, slot: Int, _ refusal: Refusal,
    identifier: UnsafeRawBufferPointer, nowMilliseconds: Int64
  ) {
    guard let prepared = prepare(refusal) else {
      session.reset(slot: slot, errorCode: HTTP2ErrorCode.internalError)
      return
    }
    _ = prepared.head.set(Self.identifierField, identifier)
    let body = prepared.body ?? Self.body(refusal, nowMilliseconds: nowMilliseconds)
    _ = body.withUnsafeBytes { session.respond(slot: slot, prepared.head, body: $0) }
  }

  private func prepare(_ refusal: Refusal) -> Prepared? {
    if let known = refusals[refusal] { return known }
    let head = try? Self.head(
      status: refusal.status, retryAfter: refusal.retryAfter, isDevelopment: false)
    guard let head else { return nil }
    let body = refusal.timestamp == .now ? nil : Self.body(refusal, nowMilliseconds: 0)
    let made = Prepared(head: head, body: body)
    // Scripts may bring any number of different answers; the table need not keep them all.
    if refusals.count >= 1024 { refusals.removeAll() }
    refusals[refusal] = made
    return made
  }

  private static func body(_ refusal: Refusal, nowMilliseconds: Int64) -> [UInt8] {
    if let body = refusal.body { return Array(body.utf8) }
    let reason = JSONString.quoted(refusal.reason)
    switch refusal.timestamp {
    case .absent: return Array("{\"reason\":\(reason)}".utf8)
    case .now: return Array("{\"reason\":\(reason),\"timestamp\":\(nowMilliseconds)}".utf8)
    case .fixed(let time): return Array("{\"reason\":\(reason),\"timestamp\":\(time)}".utf8)
    }
  }

  private static func head(
    status: Int, retryAfter: Int?, isDevelopment: Bool
  ) throws(HTTP2Error) -> HTTP2FieldBlock {
    var fields: [(name: String, value: String, indexing: HTTP2Indexing)] = [
      (":status", String(status), .indexed), ("apns-id", "", .never),
    ]
    // Apple: returned in the development environment only, for its Push Notifications Console.
    if isDevelopment { fields.append(("apns-unique-id", "", .never)) }
    if let retryAfter { fields.append(("retry-after", String(retryAfter), .indexed)) }
    return try HTTP2FieldBlock(fields, values: .copied)
  }
}
