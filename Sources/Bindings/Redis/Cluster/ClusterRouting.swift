import Transport

/// One pipeline on its way through a cluster: which of its commands each node gets, which are sent
/// again elsewhere, and whose answer is whose. Events in, actions out; no clock, no socket.
/// `RedisCluster` performs what it says.
///
/// Commands on keys of one slot keep their order, unless that slot is being moved.
struct ClusterRouting {
  /// Commands that one node gets together, in their order.
  struct Part: Equatable {
    let node: Endpoint
    let commands: [Int]
    /// ASKING goes before each of them.
    var isAsking = false
    /// A replica of the node may answer them.
    var mayLag = false
    /// How often these were answered with something else than a reply.
    var round = 0
  }

  enum Event {
    case begin
    case answered(Part, RedisReplies)
    /// By a replica, but for some of them.
    case copied(Part, RedisReplies, missing: [Int])
    /// By no replica.
    case notCopied(Part)
    /// Ended without all answers.
    case failed(Part, RedisError)
    /// Not sent, and perhaps another node's now: its own is away, and the map has changed.
    case returned(Part)
    /// Not sent again: there is no time left for it.
    case outOfTime(Part)
  }

  enum Action: Equatable {
    case send(Part)
    case sendLater(Part, after: Duration)
    /// The same by way of `returned`: where it goes is not known yet.
    case divideLater(Part, after: Duration)
    /// The map was wrong, or slots are not served.
    case refresh
    case finish(RedisError?)
  }

  /// Answers that send a command elsewhere or bid it wait; the next one is what the caller gets.
  static let maximumRounds = 5
  /// The first pause; the second redirect, as nodes that disagree give it, waits too.
  static let pause = Duration.milliseconds(20)

  let commands: [ScannedCommand]
  private let mayLag: Bool
  private(set) var gathered: GatheredReplies
  private var pending = 0
  private var isAnswered = false
  private var failures: [RedisError] = []

  init(_ commands: [ScannedCommand], mayLag: Bool = false) {
    self.commands = commands
    self.mayLag = mayLag
    gathered = GatheredReplies(count: commands.count)
  }

  /// `anyone`: takes what has no key, or a slot that nobody serves: it says what is wrong with it.
  mutating func handle(_ event: Event, _ map: inout ClusterMap, anyone: Endpoint) -> [Action] {
    var actions: [Action]
    switch event {
    case .begin:
      actions = divide(Array(commands.indices), round: 0, map, anyone)
    case .returned(let part):
      pending -= 1
      actions = divide(part.commands, round: part.round, map, anyone)
    case .failed(_, let error):
      pending -= 1
      failures.append(error)
      actions = []
    case .answered(let part, let replies):
      pending -= 1
      actions = take(replies, of: part, &map, anyone)
    case .copied(let part, let replies, let missing):
      actions = take(replies, ofReplica: part, missing)
    case .notCopied(let part):
      actions = [.send(atMaster(part, part.commands))]
    case .outOfTime(let part):
      pending -= 1
      giveUp(part)
      actions = []
    }
    if pending == 0 { actions.append(.finish(failure)) }
    return actions
  }

  // MARK: there

  private mutating func divide(
    _ indices: [Int], round: Int, _ map: ClusterMap, _ anyone: Endpoint
  ) -> [Action] {
    var byMaster: [Int: [Int]] = [:]
    for index in indices {
      let master = commands[index].slot.flatMap { map.master(of: $0) } ?? -1
      byMaster[master, default: []].append(index)
    }
    pending += byMaster.count
    return byMaster.sorted { $0.key < $1.key }.map { master, indices in
      .send(
        Part(
          node: master < 0 ? anyone : map.masters[master], commands: indices,
          mayLag: mayLag && round == 0 && master >= 0, round: round))
    }
  }

  private func atMaster(_ part: Part, _ commands: [Int]) -> Part {
    Part(node: part.node, commands: commands, round: part.round)
  }

  // MARK: and back

  /// The last word on what is missing is the master's.
  private mutating func take(
    _ replies: RedisReplies, ofReplica part: Part, _ missing: [Int]
  ) -> [Action] {
    let source = gathered.add(replies)
    for (position, command) in part.commands.enumerated() {
      gathered.set(command, to: position, of: source)
    }
    guard missing.isEmpty else { return [.send(atMaster(part, missing.map { part.commands[$0] }))] }
    pending -= 1
    return []
  }

  private enum Fate: Equatable {
    case go(to: Endpoint, isAsking: Bool)
    /// By the map, after a pause.
    case wait
    /// To the same node, after a pause.
    case again
  }

  private mutating func take(
    _ replies: RedisReplies, of part: Part, _ map: inout ClusterMap, _ anyone: Endpoint
  ) -> [Action] {
    let source = gathered.add(replies)
    let stride = part.isAsking ? 2 : 1
    var fates: [Int: Fate] = [:]
    var wantsMap = false
    for (position, command) in part.commands.enumerated() {
      let place = (position + 1) * stride - 1
      gathered.set(command, to: place, of: source)
      guard replies[place].kind == .error, let error = replies[place].error else { continue }
      wantsMap = wantsMap || error.kind.isOfCluster
      guard let redirect = ClusterRedirect(error, from: part.node) else { continue }
      fates[commands[command].leader] = fate(redirect, &map)
    }
    isAnswered = isAnswered || fates.isEmpty || part.commands.contains { fates[leader($0)] == nil }
    var actions: [Action] = wantsMap ? [.refresh] : []
    guard !fates.isEmpty else { return actions }
    guard part.round < Self.maximumRounds else {
      giveUp(part, fates)
      return actions
    }
    actions += again(part, fates)
    return actions
  }

  private func leader(_ command: Int) -> Int { commands[command].leader }

  private func fate(_ redirect: ClusterRedirect, _ map: inout ClusterMap) -> Fate {
    switch redirect {
    case .moved(let slot, let endpoint?):
      map.move(slot, to: endpoint)
      return .go(to: endpoint, isAsking: false)
    case .ask(let endpoint?): return .go(to: endpoint, isAsking: true)
    case .moved(_, nil), .ask(nil): return .wait
    case .tryAgain: return .again
    }
  }

  private mutating func again(_ part: Part, _ fates: [Int: Fate]) -> [Action] {
    var groups: [(fate: Fate, commands: [Int])] = []
    for command in part.commands {
      guard let fate = fates[leader(command)] else { continue }
      if let index = groups.firstIndex(where: { $0.fate == fate }) {
        groups[index].commands.append(command)
      } else {
        groups.append((fate, [command]))
      }
    }
    let round = part.round + 1
    return groups.flatMap { fate, commands -> [Action] in
      pending += 1
      switch fate {
      case .go(let endpoint, let isAsking):
        let next = Part(node: endpoint, commands: commands, isAsking: isAsking, round: round)
        return [round < 2 ? .send(next) : .sendLater(next, after: Self.pause(round - 1))]
      case .wait:
        let next = Part(node: part.node, commands: commands, round: round)
        return [.divideLater(next, after: Self.pause(round))]
      case .again:
        let next = Part(node: part.node, commands: commands, isAsking: part.isAsking, round: round)
        return [.sendLater(next, after: Self.pause(round))]
      }
    }
  }

  private static func pause(_ round: Int) -> Duration { pause * (1 << (round - 1)) }

  /// The commands were not done, and the caller may ask again: `notServed`.
  private mutating func giveUp(_ part: Part, _ fates: [Int: Fate]? = nil) {
    for command in part.commands where fates == nil || fates?[leader(command)] != nil {
      let said = gathered[command]?.error.map { ": \($0.excerpt)" } ?? ""
      let text = "TRYAGAIN the cluster sends this command from node to node\(said)"
      gathered.set(command, to: 0, of: gathered.add(RedisReplies(error: text)))
    }
  }

  /// The error of the whole pipeline. No command that was done may look as if it were not.
  private var failure: RedisError? {
    guard let first = failures.first else { return nil }
    if let large = failures.first(where: { $0.code == .replyTooLarge }) { return large }
    if let unknown = failures.first(where: \.isOutcomeUnknown) { return unknown }
    guard isAnswered else { return first }
    return RedisError(
      .connectionLost, "a part of the commands was done, and a node did not take its part",
      cause: first.description)
  }
}

extension RedisErrorReply.Kind {
  /// Another map may help.
  var isOfCluster: Bool {
    switch self {
    case .moved, .clusterDown, .masterDown, .readOnly, .loading: true
    default: false
    }
  }
}

/// A node's error for a command that it did not do because the slot is, or is going, elsewhere.
package enum ClusterRedirect: Equatable {
  /// The slot is the other node's, for good. No endpoint: a node whose name is not known.
  case moved(slot: Int, to: Endpoint?)
  /// This key is the other node's already, while its slot is being moved.
  case ask(Endpoint?)
  /// Of several keys some are here and some there.
  case tryAgain

  /// Nil: an error like any other. `answering` is who said it: an empty host means that one.
  package init?(_ error: RedisErrorReply, from answering: Endpoint) {
    switch error.kind {
    case .tryAgain: self = .tryAgain
    case .moved, .ask:
      // `MOVED 3999 127.0.0.1:6381`; an IPv6 address has no brackets.
      let words = error.message.split(separator: " ")
      guard words.count >= 3, let slot = Int(words[1]), (0..<RedisSlot.count).contains(slot),
        let colon = words[2].lastIndex(of: ":"),
        let port = Int(words[2][words[2].index(after: colon)...]), (1...65_535).contains(port)
      else { return nil }
      let host = String(words[2][..<colon])
      let endpoint =
        host == "?"
        ? nil : Endpoint(host: host.isEmpty ? answering.host : host, port: port)
      self = error.kind == .moved ? .moved(slot: slot, to: endpoint) : .ask(endpoint)
    default: return nil
    }
  }
}
