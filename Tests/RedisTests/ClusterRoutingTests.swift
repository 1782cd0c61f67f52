import Testing
import Transport

@testable import Redis

/// Two nodes: `a` has the slots of the keys a0, a1…, `b` those of b0, b1….
@Suite struct ClusterRoutingTests {
  typealias Routing = ClusterRouting

  private let a = Endpoint(host: "a", port: 1)
  private let b = Endpoint(host: "b", port: 2)
  private let c = Endpoint(host: "c", port: 3)

  private var map: ClusterMap {
    var map = ClusterMap()
    for index in 0..<4 {
      map.move(RedisSlot("a\(index)").number, to: a)
      map.move(RedisSlot("b\(index)").number, to: b)
    }
    return map
  }

  private func routing(_ keys: String...) throws -> Routing {
    let pipeline = RedisPipeline()
    for key in keys { pipeline.append(key == "-" ? ["INFO"] : ["GET", key]) }
    return Routing(try #require(CommandScanner.commands(of: pipeline)))
  }

  private func slot(_ key: String) -> Int { RedisSlot(key).number }

  /// One status or error for each word.
  private func answers(_ words: String...) throws -> RedisReplies {
    try replies(words.map { "\($0)\r\n" }.joined(), words.count)
  }

  private func texts(_ routing: Routing) -> [String?] {
    (0..<routing.gathered.count).map { routing.gathered[$0].flatMap { $0.text ?? $0.errorText } }
  }

  private func part(
    _ node: Endpoint, _ commands: [Int], asking: Bool = false, round: Int = 0
  ) -> Routing.Part {
    Routing.Part(node: node, commands: commands, isAsking: asking, round: round)
  }

  @Test func dividesByNodeAndAnswersInTheCallersOrder() throws {
    var (routing, map) = (try routing("b0", "a0", "b1", "a1"), map)
    let (toA, toB) = (part(a, [1, 3]), part(b, [0, 2]))
    #expect(routing.handle(.begin, &map, anyone: a) == [.send(toA), .send(toB)])
    #expect(try routing.handle(.answered(toB, answers("+B0", "+B1")), &map, anyone: a) == [])
    let last = try routing.handle(.answered(toA, answers("+A0", "+A1")), &map, anyone: a)
    #expect(last == [.finish(nil)])
    #expect(texts(routing) == ["B0", "A0", "B1", "A1"])
  }

  @Test func whatNobodyServesAndWhatHasNoKeyGoToAnybody() throws {
    var (routing, map) = (try routing("nobody's"), map)
    #expect(map.master(of: slot("nobody's")) == nil)
    #expect(routing.handle(.begin, &map, anyone: b) == [.send(part(b, [0]))])
    let down = try routing.handle(
      .answered(part(b, [0]), answers("-CLUSTERDOWN Hash slot not served")), &map, anyone: b)
    #expect(down == [.refresh, .finish(nil)])
    #expect(texts(routing) == ["CLUSTERDOWN Hash slot not served"])
    var keyless = try self.routing("-", "-")
    #expect(keyless.handle(.begin, &map, anyone: b) == [.send(part(b, [0, 1]))])
  }

  @Test func whatNoReplicaHasIsAskedOfItsMaster() throws {
    var (routing, map) = (try routing("b0", "a0", "b1", "a1"), map)
    routing = Routing(routing.commands, mayLag: true)
    let toA = Routing.Part(node: a, commands: [1, 3], mayLag: true)
    let toB = Routing.Part(node: b, commands: [0, 2], mayLag: true)
    #expect(routing.handle(.begin, &map, anyone: a) == [.send(toA), .send(toB)])
    // Of the second key the replica knows nothing.
    let first = try routing.handle(
      .copied(toA, answers("+A0", "$-1"), missing: [1]), &map, anyone: a)
    #expect(first == [.send(part(a, [3]))])
    // No replica answers.
    #expect(routing.handle(.notCopied(toB), &map, anyone: a) == [.send(part(b, [0, 2]))])
    #expect(try routing.handle(.answered(part(a, [3]), answers("+A1")), &map, anyone: a) == [])
    // The slot has moved meanwhile: masters alone are asked then.
    let moved = "-MOVED \(slot("b1")) c:3"
    #expect(
      try routing.handle(.answered(part(b, [0, 2]), answers("+B0", moved)), &map, anyone: a)
        == [.refresh, .send(part(c, [2], round: 1))])
    let last = try routing.handle(
      .answered(part(c, [2], round: 1), answers("+B1")), &map, anyone: a)
    #expect(last == [.finish(nil)])
    #expect(texts(routing) == ["B0", "A0", "B1", "A1"])
  }

  @Test func aReadThatReplicasAnswerIsOver() throws {
    var (routing, map) = (Routing(try routing("a0", "-").commands, mayLag: true), map)
    let all = Routing.Part(node: a, commands: [0, 1], mayLag: true)
    #expect(routing.handle(.begin, &map, anyone: b) == [.send(all)])
    let last = try routing.handle(
      .copied(all, answers("+A0", "+INFO"), missing: []), &map, anyone: b)
    #expect(last == [.finish(nil)])
    #expect(texts(routing) == ["A0", "INFO"])
  }

  @Test func movedMendsTheMapAndGoesThere() throws {
    var (routing, map) = (try routing("a0", "a1"), map)
    _ = routing.handle(.begin, &map, anyone: a)
    let moved = "-MOVED \(slot("a1")) c:3"
    let next = part(c, [1], round: 1)
    #expect(
      try routing.handle(.answered(part(a, [0, 1]), answers("+A0", moved)), &map, anyone: a)
        == [.refresh, .send(next)])
    #expect(map.masters.last == c && map.master(of: slot("a1")) == 2)
    #expect(try routing.handle(.answered(next, answers("+A1")), &map, anyone: a) == [.finish(nil)])
    #expect(texts(routing) == ["A0", "A1"])
  }

  @Test func askingIsForOnceAndLeavesTheMap() throws {
    var (routing, map) = (try routing("a0", "a0", "-"), map)
    let before = map
    _ = routing.handle(.begin, &map, anyone: a)
    let ask = "-ASK \(slot("a0")) c:3"
    let next = part(c, [0, 1, 2], asking: true, round: 1)
    // What follows the command goes with it: it speaks of the node that answers.
    #expect(
      try routing.handle(.answered(part(a, [0, 1, 2]), answers(ask, ask, "+i")), &map, anyone: a)
        == [.send(next)])
    #expect(map == before)
    let answered = try answers("+OK", "+one", "+OK", "+two", "+OK", "+info")
    #expect(routing.handle(.answered(next, answered), &map, anyone: a) == [.finish(nil)])
    #expect(texts(routing) == ["one", "two", "info"])
  }

  @Test func tryAgainWaitsAtTheSameNode() throws {
    var (routing, map) = (try routing("a0"), map)
    _ = routing.handle(.begin, &map, anyone: a)
    var now = part(a, [0])
    for pause in [20, 40, 80, 160, 320] {
      let next = part(a, [0], round: now.round + 1)
      #expect(
        try routing.handle(.answered(now, answers("-TRYAGAIN later")), &map, anyone: a)
          == [.sendLater(next, after: .milliseconds(pause))])
      now = next
    }
    let last = try routing.handle(.answered(now, answers("-TRYAGAIN later")), &map, anyone: a)
    #expect(last == [.finish(nil)])
    #expect(routing.gathered[0]?.error?.disposition == .wait)
  }

  /// Nodes that each name the other: bounded, with pauses, and an error that may pass.
  @Test func redirectsAreBounded() throws {
    var (routing, map) = (try routing("a0", "b0"), map)
    _ = routing.handle(.begin, &map, anyone: a)
    #expect(try routing.handle(.answered(part(b, [1]), answers("+B")), &map, anyone: a) == [])
    var now = part(a, [0])
    for round in 1...Routing.maximumRounds {
      let other = now.node == a ? b : a
      let next = part(other, [0], round: round)
      let moved = "-MOVED \(slot("a0")) \(other.host):\(other.port)"
      let actions = try routing.handle(.answered(now, answers(moved)), &map, anyone: a)
      let pause = Routing.pause * (1 << max(round - 2, 0))
      #expect(actions == [.refresh, round == 1 ? .send(next) : .sendLater(next, after: pause)])
      now = next
    }
    let moved = "-MOVED \(slot("a0")) a:1"
    let end = try routing.handle(.answered(now, answers(moved)), &map, anyone: a)
    #expect(end == [.refresh, .finish(nil)])
    #expect(routing.gathered[0]?.error?.disposition == .wait)
    #expect(routing.gathered[1]?.text == "B")
  }

  @Test func aNodeWithoutANameIsLookedUpLater() throws {
    var (routing, map) = (try routing("a0"), map)
    _ = routing.handle(.begin, &map, anyone: a)
    let next = part(a, [0], round: 1)
    let moved = "-MOVED \(slot("a0")) ?:3"
    #expect(
      try routing.handle(.answered(part(a, [0]), answers(moved)), &map, anyone: a)
        == [.refresh, .divideLater(next, after: .milliseconds(20))])
    map.move(slot("a0"), to: c)
    #expect(
      routing.handle(.returned(next), &map, anyone: a) == [.send(part(c, [0], round: 1))])
  }

  @Test func whatWasNotSentFollowsTheNewMap() throws {
    var (routing, map) = (try routing("a0", "a1", "b0"), map)
    _ = routing.handle(.begin, &map, anyone: a)
    map.move(slot("a0"), to: c)
    map.move(slot("a1"), to: b)
    let (toB, toC) = (part(b, [1]), part(c, [0]))
    #expect(
      routing.handle(.returned(part(a, [0, 1])), &map, anyone: a) == [.send(toB), .send(toC)])
    _ = try routing.handle(.answered(toB, answers("+A1")), &map, anyone: a)
    _ = try routing.handle(.answered(toC, answers("+A0")), &map, anyone: a)
    let last = try routing.handle(.answered(part(b, [2]), answers("+B0")), &map, anyone: a)
    #expect(last == [.finish(nil)] && texts(routing) == ["A0", "A1", "B0"])
  }

  @Test func outOfTimeIsNotServed() throws {
    var (routing, map) = (try routing("a0"), map)
    _ = routing.handle(.begin, &map, anyone: a)
    _ = try routing.handle(.answered(part(a, [0]), answers("-TRYAGAIN x")), &map, anyone: a)
    let end = routing.handle(.outOfTime(part(a, [0], round: 1)), &map, anyone: a)
    #expect(end == [.finish(nil)] && routing.gathered[0]?.error?.kind == .tryAgain)
  }

  // MARK: failures

  private let unsent = RedisError(.unavailable, "no connection")
  private let lost = RedisError(.connectionLost, "broke")

  private func end(_ keys: [String], _ events: [Routing.Event]) throws -> RedisError? {
    var (routing, map) = (try routing(keys[0], keys.count > 1 ? keys[1] : "-"), map)
    _ = routing.handle(.begin, &map, anyone: a)
    var actions: [Routing.Action] = []
    for event in events {
      #expect(actions == [])
      actions = routing.handle(event, &map, anyone: a)
    }
    guard case .finish(let failure) = actions.last else {
      Issue.record("not finished")
      return nil
    }
    return failure
  }

  /// Who hears that nothing was sent may do it again without a second thought.
  @Test func whatWasDoneInPartHasAnUnknownOutcome() throws {
    let (toA, toB) = (part(a, [0]), part(b, [1]))
    let done = Routing.Event.answered(toA, try answers("+OK"))
    let keys = ["a0", "b0"]
    #expect(try end(keys, [.failed(toA, unsent), .failed(toB, unsent)]) == unsent)
    #expect(try end(keys, [.failed(toA, unsent), .failed(toB, lost)]) == lost)
    let partly = try end(keys, [done, .failed(toB, unsent)])
    #expect(partly?.code == .connectionLost && partly?.isOutcomeUnknown == true)
    #expect(partly?.cause == unsent.description)
    #expect(try end(keys, [.failed(toB, unsent), done])?.isOutcomeUnknown == true)
    // What was sent on to a node that is away was not done.
    let moved = Routing.Event.answered(toA, try answers("-MOVED \(slot("a0")) b:2"))
    var (routing, map) = (try routing("a0"), map)
    _ = routing.handle(.begin, &map, anyone: a)
    _ = routing.handle(moved, &map, anyone: a)
    #expect(
      routing.handle(.failed(part(b, [0], round: 1), unsent), &map, anyone: a)
        == [.finish(unsent)])
  }

  @Test func whatIsTooLargeIsSaidBeforeAll() throws {
    let large = RedisError(.replyTooLarge, "large")
    let (toA, toB) = (part(a, [0]), part(b, [1]))
    #expect(try end(["a0", "b0"], [.failed(toA, lost), .failed(toB, large)]) == large)
  }
}
