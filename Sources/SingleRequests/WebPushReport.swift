import Deliver
import Model
import Terminal

/// A push service's answer to one message, explained.
package struct WebPushReport: AccountReport, Sendable {
  package let reply: AppleReply
  /// `updates.push.services.mozilla.com:443`
  package let server: String
  package let account: any PlatformAccount

  /// - Parameter account: says what the answer means, as it says to a worker.
  package init(_ reply: AppleReply, of account: any PlatformAccount, server: String) {
    self.reply = reply
    self.server = server
    self.account = account
  }

  private var words: WebPushWords? { disposition.map { WebPushWords($0) } }

  package var speaker: String { "the service" }

  /// Most write JSON or a line of text.
  package var said: String? {
    guard let disposition, disposition != .accepted else { return nil }
    if let detail = account.keptField.flatMap({ reply.field($0) }) { return detail }
    let text = String(decoding: reply.body.prefix(Self.shownBytes), as: UTF8.self)
    return text.isEmpty ? nil : text
  }

  private static let shownBytes = 400

  package var hint: String? {
    switch reply.error?.code {
    case _ where reply.error?.cause?.code == .noProtocol:
      "this command needs HTTP/2, which the service does not speak; workers send to it over "
        + "HTTP/1.1"
    case .refusedAddress:
      "the host's addresses are none of the Internet's, and a worker does not connect there "
        + "either; webpush.connect_to is for tests"
    case .unresolved: "is the host's name right, and does DNS work here?"
    case .unreachable, .timeout: "is the way to this port open?"
    case .tls: "webpush.ca_file names what is trusted instead of the system's authorities"
    default: nil
    }
  }

  /// Of the message, where the service took it (RFC 8030, section 5): who has it may delete it.
  private var location: String? { disposition == .accepted ? reply.field("location") : nil }

  package var notes: [(name: String, value: String)] {
    [("retry after", reply.field("retry-after")), ("message", location)].compactMap { note in
      note.1.map { (note.0, $0) }
    }
  }

  package var members: [(name: String, value: JSONOutput)] {
    [
      ("retry_after", reply.field("retry-after").map { .text($0) } ?? .null),
      ("message", location.map { .text($0) } ?? .null),
    ]
  }

  package var text: String { text(words) }
  package var json: JSONOutput { json(words) }
}

/// The meaning of an answer of a push service, advice for a person who looks at a single message,
/// and the reaction of a worker (docs/webpush.md).
struct WebPushWords: AnswerWords, Equatable {
  let reason: String?
  let meaning: String
  let advice: String
  let policy: String

  init(_ disposition: Disposition) {
    reason = disposition.reason?.name
    policy = Self.policy(disposition)
    (meaning, advice) =
      disposition == .accepted ? Self.accepted : Self.table[reason ?? ""] ?? Self.undocumented
  }

  private static func policy(_ disposition: Disposition) -> String {
    switch disposition {
    case .accepted: "accepted"
    case .reject: "rejected"
    case .rejectAndAlert: "rejected; the operator is told"
    case .prune: "rejected; the subscription is removed, unless it was bound a few minutes ago"
    case .setAside: "rejected; the subscription is set aside"
    case .retry: "sent again after a back-off"
    case .retryElsewhere: "sent again on another connection"
    case .renew: "sent again with another VAPID token"
    case .hold:
      "waits until the credentials are taken; the operator is told. Where the service takes others "
        + "with them, the subscription is set aside"
    }
  }

  private static let accepted = (
    "the service took the message, which does not mean that the browser has shown it",
    "if nothing appears: is the browser running, may the site show notifications, and does its "
      + "service worker handle push?"
  )

  private static let undocumented = (
    "push services do not document this answer",
    "check whether the service answers, or something in between"
  )

  private static let table: [String: (String, String)] = [
    "Gone": (
      "the subscription has ended", "bind the one that the page gets when it subscribes again"
    ),
    "NotFound": (
      "there is no such subscription",
      "is the endpoint whole? Else bind the one that the page gets when it subscribes again"
    ),
    "PayloadTooLarge": (
      "the message is too large for this service", "3,993 bytes fit at most, on phones 2,800"
    ),
    "TooManyRequests": (
      "the service, or this subscription, was sent too much", "wait before the next one"
    ),
    "BadCredentials": (
      "the VAPID token is refused",
      "is this machine's clock right, and webpush.subject a real address?"
    ),
    "CredentialsMismatch": (
      "the subscription was made with another VAPID key pair",
      "--vapid-key names the pair; else the page has to subscribe again with the public key that "
        + "fanfare check shows"
    ),
    "BadRequest": (
      "the service does not take the request",
      "the service's own words may say why; is the endpoint one that the service made?"
    ),
    "ServerError": ("the service has a fault", "try again later"),
    "ServiceUnavailable": ("the service is not available", "try again later"),
    "Redirected": (
      "the service wants the message elsewhere, where it is never sent",
      "is the endpoint whole, and is it the push service that answers?"
    ),
  ]
}
