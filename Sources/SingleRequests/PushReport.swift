import APNs
import Deliver
import JSON
import Model
import Telemetry
import Terminal

/// Apple's answer to one push, explained: for people, for scripts, and as an exit code.
package struct PushReport: Sendable {
  private let push: SinglePush
  private let reply: AppleReply
  /// `production, api.push.apple.com:443`
  private let server: String

  package init(_ push: SinglePush, _ reply: AppleReply, server: String) {
    self.push = push
    self.reply = reply
    self.server = server
  }

  /// The meaning of the answer; nil when there is none.
  private var words: ReasonWords? {
    guard let status = reply.status else { return nil }
    if status == 200 { return .accepted }
    return ReasonWords(reply.reason.map { RejectionReason.apple($0) } ?? .other)
  }

  private var answer: String {
    guard let status = reply.status else { return reply.failure ?? "no answer" }
    return status == 200 ? "200" : "\(status) \(reply.reason ?? "without a reason")"
  }

  private var policy: AnswerPolicy? {
    reply.status.map { AnswerPolicy(status: $0, reason: reply.reason) }
  }

  /// The configuration's fault is told from the push's, and from Apple's and the network's.
  package var exitCode: ExitCode {
    guard let status = reply.status else { return .unavailable }
    return
      switch RejectionTable.disposition(
        status: status, reason: reply.reason, isWhole: reply.isWhole)
    {
    case .accepted: .ok
    case .reject, .rejectAndAlert, .prune, .setAside: .failed
    case .retry(.tooManyRequests), .hold(.tooManyProviderTokenUpdates): .retryLater
    case .retry, .retryElsewhere: .unavailable
    case .renew, .hold: .config
    }
  }

  // MARK: people

  package var text: String {
    var lines = [("answer", answer)]
    if let words {
      lines.append(("meaning", words.meaning))
      lines.append(("what to do", words.advice))
    } else if let hint = reply.hint {
      lines.append(("what to do", hint))
    }
    if let policy { lines.append(("a worker's push", policy.sentence)) }
    for name in ["apns-id", "apns-unique-id"] {
      if let value = reply.field(name) { lines.append((name, value)) }
    }
    if let timestamp = reply.timestamp {
      lines.append(("gone since", WallClock.rfc3339(timestamp)))
    }
    lines.append(("server", server))
    lines.append(("topic", "\(push.headers.topic), \(push.headers.pushType.rawValue)"))
    lines.append(("took", reply.times ?? "no connection"))
    return Self.text(lines)
  }

  static func text(_ lines: [(name: String, value: String)]) -> String {
    lines.map { "\(TextLayout.padded($0.name, to: 18))\(TextLayout.printable($0.value))\n" }
      .joined()
  }

  // MARK: scripts

  package var json: JSONOutput {
    [
      "status": reply.status.map { .integer($0) } ?? .null,
      "reason": reply.reason.map { .text($0) } ?? .null,
      "failure": reply.failure.map { .text($0) } ?? .null,
      "meaning": words.map { .text($0.meaning) } ?? .null,
      "advice": (words?.advice ?? reply.hint).map { .text($0) } ?? .null,
      "worker": policy.map { .text($0.sentence) } ?? .null,
      "apns_id": reply.field("apns-id").map { .text($0) } ?? .null,
      "apns_unique_id": reply.field("apns-unique-id").map { .text($0) } ?? .null,
      "timestamp": reply.timestamp.map { .integer(Int($0)) } ?? .null,
      "server": .text(server),
      "connect_ms": reply.connectMilliseconds.map { .integer($0) } ?? .null,
      "answer_ms": reply.answerMilliseconds.map { .integer($0) } ?? .null,
    ]
  }
}
