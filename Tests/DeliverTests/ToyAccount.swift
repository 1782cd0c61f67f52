import HTTP2
import Model
import Threads
import Transport

@testable import Deliver

/// A platform that nobody has, to show what one takes: a description, an account, and ten lines of
/// wire format. Where 201 means that a push is accepted, and the answer says why it is not.
struct ToyAccount: PlatformAccount {
  static let description = Platform(
    name: "toy", tokens: .opaque(maximumBytes: 64), reasons: ["Gone", "Busy"])
  static let toy = Destination.add(description)[0]
  private static let gone = RejectionReason(named: "Gone", of: description)
  private static let busy = RejectionReason(named: "Busy", of: description)

  final class Key: Credential {
    let text = "open sesame"
  }

  struct Shown: ShownCredentials {
    func security(over protocols: [String]) -> ClientSecurity? { nil }
    mutating func show(_ credential: any Credential, at now: UInt64) {}
    func mayShow(_ credential: any Credential, at now: UInt64) -> Bool { true }
  }

  final class Answers: Sendable {
    let all = ThreadLock<[PlatformAnswer]>([])

    /// Status, body, `x-why` of each.
    var words: [String] {
      all.withLock { answers in
        answers.map {
          let body = String(decoding: $0.body, as: UTF8.self)
          return "\($0.status) \(body) \($0.detail ?? "-")\($0.isWhole ? "" : " …")"
        }
      }
    }
  }

  /// The wire format: the token in a header, the payload as it is.
  final class Writer: RequestWriter {
    let block: HTTP2FieldBlock

    init(_ authority: String) throws(HTTP2Error) {
      block = try HTTP2FieldBlock([
        (":method", "POST", .indexed), (":scheme", "https", .indexed),
        (":authority", authority, .indexed), (":path", "/toy", .indexed), ("to", "", .never),
        ("key", "", .never),
      ])
    }

    func fields(sharing shared: SharedHeaders) -> HTTP2FieldBlock? {
      (shared.fields as? StableBytes).flatMap { block.set(5, $0.bytes) ? block : nil }
    }

    func fill(
      _ fields: HTTP2FieldBlock, for push: PushBatch.Entry, in bytes: ByteArena, slot: Int
    ) -> UnsafeRawBufferPointer? {
      fields.set(4, bytes[push.token]) ? bytes[push.payload] : nil
    }
  }

  let platform = description.name
  var quota: PushQuota?
  let datesCredentials = false
  let keptBodyBytes = 16
  let keptField: String? = "x-why"
  /// That did not mean "accepted".
  let answers = Answers()
  private let key = Key()

  func makeRequestWriter(
    authority: String, slots: Int
  ) throws(HTTP2Error) -> any RequestWriter { try Writer(authority) }

  func encode(_ headers: PushHeaders, _ credential: any Credential) -> SharedHeaders {
    SharedHeaders(headers, credential, fields: StableBytes(key.text))
  }

  func meaning(of answer: PlatformAnswer) -> AnswerMeaning {
    let counted = AnswerCounts.Refusal(status: answer.status, reason: nil)
    guard answer.status != 201 else { return AnswerMeaning(.accepted, counted: counted) }
    answers.all.withLock { $0.append(answer) }
    if answer.status == 419 { return AnswerMeaning(.renew(Self.busy), counted: counted) }
    guard answer.status == 404, answer.isWhole else {
      return AnswerMeaning(
        .retry(Self.busy), counted: counted, minimumWait: answer.status == 500 ? .seconds(1) : nil)
    }
    return AnswerMeaning(.prune(Self.gone), counted: counted, goneSince: 7)
  }

  func subject(of reason: RejectionReason) -> RetrySubject? { nil }
  func reason(ofGoAway debug: [UInt8]) -> String? { nil }
  func credential(now: Int64) -> any Credential { key }
  func replacement(for expired: any Credential, now: Int64) -> (any Credential)? { nil }
  func makeShownCredentials() -> any ShownCredentials { Shown() }
}
