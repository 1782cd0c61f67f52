import JSON
import Terminal

/// What Apple said about channels, explained.
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
