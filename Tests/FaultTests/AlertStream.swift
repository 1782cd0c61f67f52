import Fixtures
import JSON
import Testing
import Threads

/// The alerts of a dashboard as its stream of server-sent events tells them, with when they came.
/// A thread of its own reads it until the server ends.
final class AlertStream: Sendable {
  struct Alert: Sendable, CustomStringConvertible {
    let name: String
    let words: String
    let runbook: String
    let seenAt: ContinuousClock.Instant

    var description: String { "\(name): \(words) [\(runbook)]" }
  }

  private struct State {
    /// Each as it was told first.
    var all: [Alert] = []
    /// Of the newest state; nil before the first.
    var newest: [Alert]?
  }

  private let state: ThreadLock<State>

  init(port: Int, key: String) throws {
    let state = ThreadLock(State())
    self.state = state
    let thread = SystemThread { Self.read(port, key, into: state) }
    try #require(thread).detach()
  }

  var newest: [Alert]? { state.withLock { $0.newest } }

  /// The first one that fits, whether or not it is still there.
  func first(where fits: (Alert) -> Bool) -> Alert? { state.withLock { $0.all.first(where: fits) } }

  /// Of a machine that is busy while everything starts, an alert may come and go.
  func forgetThePast() { state.withLock { $0.all = $0.newest ?? [] } }

  private static func read(_ port: Int, _ key: String, into state: ThreadLock<State>) {
    guard let client = try? RawClient(port: port) else { return }
    // Of HTTP/1.0: nothing stands between the lines.
    client.send(
      "GET /v1/live/health HTTP/1.0\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
        + "Authorization: Bearer \(key)\r\n\r\n")
    var text = ""
    while let more = client.read(until: "\n") {
      text += more
      while let end = text.utf8.firstIndex(of: 10) {
        let line = text[..<end]
        if line.hasPrefix("data: ") { note(Array(line.utf8.dropFirst(6)), into: state) }
        text = String(text[text.utf8.index(after: end)...])
      }
    }
  }

  private static func note(_ json: [UInt8], into state: ThreadLock<State>) {
    let now = ContinuousClock.now
    guard let rows = (try? JSONValue.parse(json))?.object?["alerts"]?.array else { return }
    let alerts = rows.compactMap(\.object).map { row in
      Alert(
        name: row["name"]?.string ?? "", words: row["what"]?.string ?? "",
        runbook: row["runbook"]?.string ?? "", seenAt: now)
    }
    state.withLock { state in
      state.newest = alerts
      for alert in alerts
      where !state.all.contains(where: { $0.name == alert.name && $0.words == alert.words }) {
        state.all.append(alert)
      }
    }
  }
}
