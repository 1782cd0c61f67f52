import Deliver
import JSON
import Model
import Terminal

/// FCM's answer to one message, explained.
package struct FCMReport: AccountReport, Sendable {
  private let push: FCMPush
  package let reply: AppleReply
  package let server: String
  package let account: any PlatformAccount

  /// - Parameter account: says what the answer means, as it says to a worker.
  package init(
    _ push: FCMPush, _ reply: AppleReply, of account: any PlatformAccount, server: String
  ) {
    self.push = push
    self.reply = reply
    self.account = account
    self.server = server
  }

  private var words: FCMWords? {
    disposition.map { FCMWords($0, isOnlyValidated: push.isOnlyValidated) }
  }

  package var speaker: String { "FCM" }

  package var said: String? { reply.object?["error"]?.object?["message"]?.string }

  package var hint: String? { nil }

  /// Of the message, where FCM took it.
  private var name: String? { reply.status == 200 ? reply.object?["name"]?.string : nil }

  package var notes: [(name: String, value: String)] { name.map { [("name", $0)] } ?? [] }

  package var members: [(name: String, value: JSONOutput)] {
    [
      ("name", name.map { .text($0) } ?? .null),
      ("validated_only", .bool(push.isOnlyValidated)),
    ]
  }

  package var text: String { text(words) }
  package var json: JSONOutput { json(words) }
}

/// The meaning of an answer of FCM's, advice for a person who looks at a single message, and the
/// reaction of a worker (docs/fcm.md).
struct FCMWords: AnswerWords, Equatable {
  /// FCM's word, or the one that workers count the answer by; nil where it took the message.
  let reason: String?
  let meaning: String
  let advice: String
  let policy: String

  init(_ disposition: Disposition, isOnlyValidated: Bool) {
    reason = disposition.reason?.name
    policy = Self.policy(disposition)
    switch disposition {
    case .accepted where isOnlyValidated:
      meaning = "FCM would take the message; nothing was delivered"
      advice = "leave --validate-only out to send it"
    case .accepted:
      meaning = "FCM accepted the message, which does not mean that it was delivered"
      advice =
        "if nothing appears: may the app show notifications, has it a notification channel, and "
        + "is this its newest token on the device?"
    case .setAside where reason == "INVALID_ARGUMENT":
      meaning = "the token is not valid"
      advice = "is it whole? It is what FirebaseMessaging.getToken() gives the app"
    default:
      (meaning, advice) = Self.table[reason ?? ""] ?? Self.undocumented
    }
  }

  private static func policy(_ disposition: Disposition) -> String {
    switch disposition {
    case .accepted: "accepted"
    case .reject: "rejected"
    case .rejectAndAlert: "rejected; the operator is told"
    case .prune: "rejected; the token is removed, unless it was bound in the last ten minutes"
    case .setAside: "rejected; the token is set aside"
    case .retry: "sent again after a back-off"
    case .retryElsewhere: "sent again on another connection"
    case .renew: "sent again with another access token; waits if that is refused too"
    case .hold: "waits until the credentials are taken; the operator is told"
    }
  }

  private static let undocumented = (
    "FCM does not document this answer",
    "check whether FCM answers, or something in between"
  )

  private static let table: [String: (String, String)] = [
    "UNREGISTERED": (
      "the token is gone: the app was removed, or the token was replaced or has expired",
      "bind the token that the app has now; it registers again when it starts"
    ),
    "INVALID_ARGUMENT": (
      "the message is wrong, or too large", "FCM's own words name the field; 4,096 bytes fit"
    ),
    "SENDER_ID_MISMATCH": (
      "the token belongs to an app of another project",
      "compare the project with the one in the app's google-services.json; fcm.apps names others"
    ),
    "QUOTA_EXCEEDED": (
      "the project sends too much",
      "wait a minute; fcm.messages_per_minute bounds what workers send"
    ),
    "DEVICE_QUOTA_EXCEEDED": (
      "this device was sent too many messages in a short time", "wait before the next one"
    ),
    "UNAVAILABLE": ("FCM is not available", "try again, after ten seconds at least"),
    "INTERNAL": ("FCM has a fault", "try again, after ten seconds at least"),
    "THIRD_PARTY_AUTH_ERROR": (
      "the project's key for Apple or for browsers is wrong",
      "upload it again in the Firebase console, under Cloud Messaging"
    ),
    "UNAUTHENTICATED": (
      "the access token is refused",
      "fanfare check says where it comes from; is this machine's clock right?"
    ),
    "PERMISSION_DENIED": (
      "the interface is off, or the account may not send",
      "enable the Firebase Cloud Messaging API in the project, and give the account the role "
        + "Firebase Cloud Messaging API Admin"
    ),
    "NOT_FOUND": ("there is no such project", "is fcm.project the id of the project?"),
  ]
}
