import Model
import Text

/// News of a token as a record: one JSON object, `Config/token-news.schema.json`. The key is the
/// user whose it was, so that one user's news stay in order.
package enum TokenNewsRecord {
  package static func encode(_ news: TokenNews) -> (key: [UInt8], value: [UInt8]) {
    var members: [(String, String)] = []
    func add(_ name: String, _ text: String) { members.append((name, JSONString.quoted(text))) }
    switch news.kind {
    case .pruned(let since):
      add("type", "token.pruned")
      add("user", news.user)
      members.append(("gone_since_ms", String(since)))
    case .quarantined:
      add("type", "token.quarantined")
      add("user", news.user)
    case .restored:
      add("type", "token.restored")
      add("user", news.user)
    case .moved(let to):
      add("type", "token.moved")
      add("from", news.user)
      add("to", to)
    }
    add("platform", news.destination.platform.name)
    if let environment = news.destination.environment { add("environment", environment) }
    add("topic", news.topic)
    add("token", news.token)
    if let reason = news.reason { add("reason", reason) }
    if let event = news.event { add("event", event) }
    members.append(("at_ms", String(news.at)))
    let text = members.map { "\"\($0)\":\($1)" }.joined(separator: ",")
    return (Array(news.user.utf8), Array("{\(text)}".utf8))
  }
}
