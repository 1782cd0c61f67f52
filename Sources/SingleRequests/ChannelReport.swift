import JSON
import Terminal

/// Apple's answer about channels, explained.
package struct ChannelReport: Sendable {
  private let reply: AppleReply
  private let server: String

  /// - Parameter request: what was asked.
  package init(_ reply: AppleReply, of request: AppleRequest, server: String) {
    var reply = reply
    if ChannelRequests.isList(request), reply.status == 200, reply.object?["channels"]?.array == nil
    {
      reply.status = nil
      reply.failure = "gave a list of channels that cannot be read"
    }
    self.reply = reply
    self.server = server
  }

  private var isSuccess: Bool { (200...299).contains(reply.status ?? 0) }

  private var words: BroadcastWords? { reply.reason.flatMap { BroadcastWords.words($0) } }

  package var exitCode: ExitCode {
    switch reply.status {
    case .some(200...299): .ok
    case .some(403): .config
    case .some(429): .retryLater
    case .some(500...599), nil: .unavailable
    default: .failed
    }
  }

  /// The id of the channel that was made.
  private var channel: String? { reply.field("apns-channel-id") }

  private var identifiers: [String]? {
    reply.object?["channels"]?.array?.compactMap { $0.string }
  }

  private var storage: String? {
    switch reply.object?["message-storage-policy"]?.integer {
    case 0: "none"
    case 1: "last"
    default: nil
    }
  }

  // MARK: people

  /// A list is its channels alone, one a line.
  package var text: String {
    if isSuccess, let identifiers { return identifiers.map { harmless($0) + "\n" }.joined() }
    var lines: [(name: String, value: String)] = []
    if let status = reply.status {
      let reason = isSuccess ? "" : " \(reply.reason ?? "without a reason")"
      lines.append(("answer", "\(status)\(reason)"))
    } else {
      lines.append(("answer", reply.failure ?? "no answer"))
    }
    if let words {
      lines.append(("meaning", words.meaning))
      lines.append(("what to do", words.advice))
    } else if let hint = reply.hint {
      lines.append(("what to do", hint))
    }
    if let channel { lines.append(("channel", channel)) }
    if let storage { lines.append(("stores", storage)) }
    for name in ["apns-request-id", "apns-unique-id"] {
      if let value = reply.field(name) { lines.append((name, value)) }
    }
    lines.append(("server", server))
    return PushReport.text(lines)
  }

  private func harmless(_ text: String) -> String { TextLayout.printable(text) }

  // MARK: scripts

  package var json: JSONOutput {
    var object: Terminal.JSONObject = [
      "status": reply.status.map { .integer($0) } ?? .null,
      "reason": reply.reason.map { .text($0) } ?? .null,
      "failure": reply.failure.map { .text($0) } ?? .null,
      "meaning": words.map { .text($0.meaning) } ?? .null,
      "advice": (words?.advice ?? reply.hint).map { .text($0) } ?? .null,
      "request_id": reply.field("apns-request-id").map { .text($0) } ?? .null,
      "server": .text(server),
    ]
    if let channel { object["channel"] = .text(channel) }
    if let storage { object["storage"] = .text(storage) }
    if let identifiers { object["channels"] = .array(identifiers.map { .text($0) }) }
    return .object(object)
  }
}

/// Apple's answers to requests about broadcast channels and to broadcasts, what they mean and what
/// to do ("Handling error responses from Apple Push Notification service").
package struct BroadcastWords: Sendable, Equatable {
  package let status: Int
  package let reason: String
  package let meaning: String
  package let advice: String

  private init(_ status: Int, _ reason: String, _ meaning: String, _ advice: String) {
    self.status = status
    self.reason = reason
    self.meaning = meaning
    self.advice = advice
  }

  /// Nil for a reason that Apple does not document for channels.
  package static func words(_ reason: String) -> BroadcastWords? {
    all.first { $0.reason == reason }
  }

  package static let all = ofRequests + ofCredentials + ofTheMoment

  private static let ofRequests = [
    BroadcastWords(
      400, "FeatureNotEnabled", "broadcast is not enabled for the app",
      "enable it with Push Notifications, for the app's id, in the Apple developer account"),
    BroadcastWords(
      400, "MissingChannelId", "apns-channel-id is missing", "name the channel with --channel"),
    BroadcastWords(
      400, "BadChannelId", "the channel's id does not have Apple's form",
      "copy the whole id from fanfare channel list"),
    BroadcastWords(
      400, "ChannelNotRegistered", "the app has no such channel in this environment",
      "was the channel deleted, or created in the other environment?"),
    BroadcastWords(
      400, "BadRequestParams", "the path has parameters that do not belong there",
      "check what is between this machine and Apple"),
    BroadcastWords(
      400, "BadRequestPayload", "the body is not what Apple expects for a channel",
      "use the storage policy none (0) or last (1)"),
    BroadcastWords(400, "PayloadEmpty", "there is no payload", "send a JSON object with aps"),
    BroadcastWords(400, "BadMessageId", "apns-request-id is not a UUID", "leave it out"),
    BroadcastWords(
      400, "MissingPushType", "the push type is missing", "use LiveActivity, the only one allowed"),
    BroadcastWords(
      400, "InvalidPushType", "the push type is not LiveActivity",
      "broadcasts are only for Live Activities"),
    BroadcastWords(
      400, "CannotCreateChannelConfig", "the app has 10,000 channels in this environment",
      "delete the channels of streams that are over"),
    BroadcastWords(
      400, "BadExpirationDate", "apns-expiration does not fit the channel",
      "use 0 for a channel that stores nothing, otherwise a time within the next 30 days"),
    BroadcastWords(
      400, "TopicDisallowed", "a suffix was added to the app's bundle id",
      "use only the bundle id: broadcasts take no suffix"),
    BroadcastWords(
      400, "BadPriority", "the priority is not 10, 5 or 1",
      "leave it out, which means 10"),
    BroadcastWords(404, "BadPath", "there is no such path", "is the host Apple's?"),
    BroadcastWords(
      405, "MethodNotAllowed", "the method does not fit the path",
      "are the hosts and ports of channels and of broadcasts mixed up?"),
    BroadcastWords(
      413, "PayloadTooLarge", "the payload is over 5,120 bytes", "shorten the content state"),
  ]

  private static let ofCredentials = [
    BroadcastWords(
      403, "BadCertificate", "the client certificate is not valid",
      "renew it in the Apple developer account"),
    BroadcastWords(
      403, "BadCertificateEnvironment", "the client certificate is for the other environment",
      "choose the certificate's environment"),
    BroadcastWords(
      403, "TopicMismatch", "the credentials are not for this app",
      "does the key's team own the bundle id?"),
    BroadcastWords(
      403, "MissingProviderToken", "the request had no provider token",
      "set apns.key_file, apns.key_id and apns.team_id"),
    BroadcastWords(
      403, "ExpiredProviderToken", "the provider token is older than an hour",
      "check this machine's clock, because Fanfare renews the token long before that"),
    BroadcastWords(
      403, "InvalidProviderToken", "the provider token's signature, key id or team id is wrong",
      "do apns.key_id and apns.team_id belong to apns.key_file, and is the clock right?"),
  ]

  private static let ofTheMoment = [
    BroadcastWords(
      429, "TooManyRequests", "the channel's or the app's publishing budget is used up",
      "wait; a channel that stores nothing has the larger budget"),
    BroadcastWords(
      429, "TooManyProviderTokenUpdates", "the provider token was renewed too often",
      "wait 20 minutes; who else signs with this key?"),
    BroadcastWords(500, "InternalServerError", "Apple's server failed", "try again"),
    BroadcastWords(503, "ServiceError", "Apple's service is not available", "try again later"),
    BroadcastWords(
      503, "Service Unavailable", "Apple's service is not available, in its other spelling",
      "try again later"),
    BroadcastWords(503, "Shutdown", "this Apple server is shutting down", "try again"),
  ]
}
