import Model
import Record
import Terminal

/// Fan-outs for people and for scripts.
package enum FanOutReport {
  package static func table(_ fanOuts: [KnownFanOut], now: Int64) -> Table {
    var table = Table([
      .init("EVENT", isWhole: true), .init("STREAMER"), .init("STATE"), .init("STARTED", .right),
      .init("SEGMENTS", .right), .init("PUSHES", .right), .init("ACCEPTED", .right),
      .init("WAITING", .right),
    ])
    for fanOut in fanOuts {
      let status = fanOut.status
      let segments = status.segments &+ status.stragglers
      table.add([
        fanOut.event, status.streamer, status.word, began(status, now: now),
        "\(Figures.grouped(status.settled))/\(Figures.grouped(segments))",
        Figures.grouped(status.pushes), Figures.grouped(status.accepted),
        Figures.grouped(status.waiting),
      ])
    }
    return table
  }

  package static func summary(of fanOut: KnownFanOut, now: Int64) -> Summary {
    let status = fanOut.status
    var text = Summary()
    text.section(fanOut.event)
    text.add("state", status.word, note: haltNote(status, now: now), mark: mark(of: status))
    text.add("streamer", status.streamer)
    text.add("template", status.template)
    if let sendAt = status.sendAt { text.add("send at", sendAt.text, note: dueNote(status, now)) }
    if let problem = status.releaseProblem { text.add("release", problem, mark: .bad) }
    if status.state != .scheduled { text.add("started", ago(status.startedAt, now: now)) }
    text.add(
      "segments", status.settled,
      note: "of \(Figures.grouped(status.segments &+ status.stragglers))"
    )
    text.add("recipients", status.recipients)
    text.add("pushes", status.pushes)
    for outcome in FanOutCounter.outcomes where status[outcome] > 0 {
      text.add(outcome.rawValue, status[outcome], indent: 1)
      let parts =
        switch outcome {
        case .rejected: status.rejected
        case .suppressed: status.suppressedByRule
        default: [String: Int]()
        }
      for (part, count) in parts.sorted(by: { $0.key < $1.key }) {
        text.add(part, count, indent: 2)
      }
    }
    if status.skipped > 0 {
      text.add(
        "skipped", status.skipped, note: "users or devices: Redis holds something else",
        mark: .bad)
    }
    if status.unread > 0 {
      text.add(
        "unread", status.unread, note: "segments: the event expired before all followers were read",
        mark: .bad)
    }
    if status.waiting > 0 { text.add("waiting", status.waiting, note: status.obstacle) }
    if status.deadLettered > 0 {
      text.add("dead letters", status.deadLettered, note: "segments", mark: .bad)
    }
    if status.doneAt > 0 { text.add("ended", ago(status.doneAt, now: now)) }
    return text
  }

  package static func json(_ fanOut: KnownFanOut) -> JSONOutput {
    let status = fanOut.status
    var object: JSONObject = ["event": .text(fanOut.event)]
    for (name, text) in status.texts { object[name] = .text(text) }
    // Words that look like numbers are words.
    for (name, number) in status.numbers.sorted(by: { $0.key < $1.key }) where object[name] == nil {
      object[name] = .integer(number)
    }
    return .object(object)
  }

  private static func mark(of status: FanOutStatus) -> Summary.Mark {
    switch status.state {
    case .scheduled, .running: .none
    case .done: .good
    case .expired, .incomplete, .unknown: .bad
    }
  }

  private static func began(_ status: FanOutStatus, now: Int64) -> String {
    guard status.state == .scheduled else { return ago(status.startedAt, now: now) }
    return ahead(status.dueAt, now: now)
  }

  /// By whom, when and why it was stopped, as far as that is known.
  /// - Parameter now: ms since 1970.
  package static func haltNote(_ status: FanOutStatus, now: Int64) -> String {
    var words: [String] = []
    if !status.haltedBy.isEmpty { words.append("by \(status.haltedBy)") }
    if status.halt != nil, let at = status.numbers["brake_ms"], at > 0 {
      words.append(ago(at, now: now))
    }
    let parts = [words.joined(separator: ", "), status.haltReason]
    return parts.filter { !$0.isEmpty }.joined(separator: ": ")
  }

  private static func dueNote(_ status: FanOutStatus, _ now: Int64) -> String {
    let clocks: String? = if case .local = status.sendAt { "by each reader's clock" } else { nil }
    let first = status.state == .scheduled ? ahead(status.dueAt, now: now) : nil
    return [clocks, first].compactMap { $0 }.joined(separator: ", ")
  }

  private static func ahead(_ milliseconds: Int, now: Int64) -> String {
    let left = Int64(milliseconds) - now
    return left < 1000 ? "due" : "in \(Figures.age(milliseconds: left))"
  }

  private static func ago(_ milliseconds: Int, now: Int64) -> String {
    guard milliseconds > 0 else { return "-" }
    return "\(Figures.age(milliseconds: now - Int64(milliseconds))) ago"
  }
}
