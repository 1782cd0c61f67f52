import Redis

/// What the masters of a Redis Cluster say of it and of each other. That each slot has a master
/// does not say that this one lives.
struct ClusterWord {
  static var questions: RedisPipeline { RedisPipeline(["CLUSTER", "INFO"], ["CLUSTER", "NODES"]) }

  /// Masters that said nothing.
  private(set) var silent: [String] = []
  /// Masters that refuse what they are asked, since they take the cluster to be down.
  private(set) var down: [String] = []
  /// Masters with slots that another calls dead (`fail`), or suspects to be (`fail?`).
  private(set) var failing: [String: (slots: String, by: [String])] = [:]
  /// Why one may not be asked.
  private(set) var refusal: String?

  var isWell: Bool { silent.isEmpty && down.isEmpty && failing.isEmpty }

  mutating func isSilent(_ master: String) { silent.append(master) }

  mutating func add(_ replies: RedisReplies, of master: String) {
    guard let state = replies[0].text, let nodes = replies[1].text else {
      refusal = replies.firstError.map { "\($0)" } ?? "no answer"
      return
    }
    if state.contains("cluster_state:fail") { down.append(master) }
    for line in nodes.split(whereSeparator: \.isNewline) { note(line, said: master) }
  }

  /// `<id> <ip:port@bus,name> <flags> <master> <ping> <pong> <epoch> <link> <slots>…`; slots in
  /// brackets are on the move.
  private mutating func note(_ line: Substring, said master: String) {
    let words = line.split(separator: " ")
    guard words.count > 8 else { return }
    let flags = words[2].split(separator: ",")
    let slots = words[8...].filter { !$0.hasPrefix("[") }.joined(separator: ", ")
    guard flags.contains("master"), flags.contains("fail") || flags.contains("fail?"),
      !slots.isEmpty
    else { return }
    let name = String(words[1].prefix { $0 != "@" })
    failing[name, default: (slots, [])].by.append(master)
  }
}
