import Deliver
import Model
import Terminal

/// The meaning of an answer, advice for a person who looks at a single push, and the reaction of a
/// worker.
protocol AnswerWords {
  /// The word that workers count the answer by; nil where the push was accepted.
  var reason: String? { get }
  var meaning: String { get }
  var advice: String { get }
  var policy: String { get }
}

/// The answer to one push, explained by the account that a worker would send it with: for people,
/// for scripts, and as an exit code.
package protocol AccountReport {
  var reply: AppleReply { get }
  var account: any PlatformAccount { get }
  /// `project p-1, fcm.googleapis.com:443`
  var server: String { get }
  /// As in "FCM says".
  var speaker: String { get }
  /// The server's own words for a refusal.
  var said: String? { get }
  /// Advice when there was no answer.
  var hint: String? { get }
  /// Further lines for people.
  var notes: [(name: String, value: String)] { get }
  /// Further members for scripts.
  var members: [(name: String, value: JSONOutput)] { get }
}

extension AppleReply {
  /// The reaction of a worker to the answer; nil when there was none.
  package func disposition(of account: any PlatformAccount) -> Disposition? {
    status.map {
      account.meaning(
        of: PlatformAnswer(
          status: $0, body: Array(body.prefix(account.keptBodyBytes)), isWhole: isWhole,
          detail: account.keptField.flatMap { field($0) })
      ).disposition
    }
  }

  /// Nil without a connection.
  var times: String? {
    connectMilliseconds.map {
      "TLS and HTTP/2 \($0) ms" + (answerMilliseconds.map { ", the answer \($0) ms" } ?? "")
    }
  }
}

extension AccountReport {
  var disposition: Disposition? { reply.disposition(of: account) }

  /// The configuration's fault is told from the push's, and from the server's and the network's.
  package var exitCode: ExitCode {
    switch disposition {
    case nil: .unavailable
    case .accepted: .ok
    case .reject, .rejectAndAlert, .prune, .setAside: .failed
    // Some push services say 406 where others say 429.
    case .retry where reply.status == 429 || reply.status == 406: .retryLater
    case .retry, .retryElsewhere: .unavailable
    case .renew, .hold: .config
    }
  }

  private func answer(_ words: (any AnswerWords)?) -> String {
    guard let status = reply.status else { return reply.failure ?? "no answer" }
    return [String(status), words?.reason].compactMap(\.self).joined(separator: " ")
  }

  func text(_ words: (any AnswerWords)?) -> String {
    var lines = [(name: "answer", value: answer(words))]
    if let said { lines.append(("\(speaker) says", said)) }
    if let words {
      lines.append(("meaning", words.meaning))
      lines.append(("what to do", words.advice))
      lines.append(("a worker's push", words.policy))
    } else if let hint {
      lines.append(("what to do", hint))
    }
    lines += notes
    lines.append(("server", server))
    if let times = reply.times { lines.append(("took", times)) }
    return PushReport.text(lines)
  }

  func json(_ words: (any AnswerWords)?) -> JSONOutput {
    var object: JSONObject = [
      "status": reply.status.map { .integer($0) } ?? .null,
      "reason": words?.reason.map { .text($0) } ?? .null,
      "said": said.map { .text($0) } ?? .null,
      "failure": reply.failure.map { .text($0) } ?? .null,
      "meaning": words.map { .text($0.meaning) } ?? .null,
      "advice": (words?.advice ?? hint).map { .text($0) } ?? .null,
      "worker": words.map { .text($0.policy) } ?? .null,
    ]
    for (name, value) in members { object[name] = value }
    object["server"] = .text(server)
    object["connect_ms"] = reply.connectMilliseconds.map { .integer($0) } ?? .null
    object["answer_ms"] = reply.answerMilliseconds.map { .integer($0) } ?? .null
    return .object(object)
  }
}
