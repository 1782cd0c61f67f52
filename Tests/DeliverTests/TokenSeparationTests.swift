import Model
import Testing

@testable import Deliver

/// Which pushes go apart, and that they come back.
@Suite struct TokenSeparationTests {
  private static let second: UInt64 = 1_000_000_000
  private let topics = RouteTopics(environment: .production)
  private let traffic = RouteTraffic(streamsPerConnection: 500)
  private let separation: TokenSeparation
  private let tally = SegmentTally()

  init() {
    separation = TokenSeparation(topics: topics, traffic: traffic)
    traffic.isolation.begin(at: Self.second)
  }

  private func append(_ tokens: [String], _ topic: String = "a", _ tally: SegmentTally? = nil) {
    let batch = PushBatch.made(topic: topic, tokens: tokens, tally ?? self.tally)
    _ = topics.topic(named: topic).queue.append(batch)
  }

  private func know(_ tokens: [String]) {
    let batch = PushBatch.made(topic: "a", tokens: tokens, SegmentTally())
    for index in tokens.indices {
      traffic.isolation.took(ReadyPush(batch: batch, index: index, history: PushHistory()))
    }
  }

  /// Sends on an ordinary connection what it takes; the tokens' numbers in their batches.
  private func send(_ limit: Int, at now: UInt64) -> [Int] {
    let separation = separation.begin(at: now) ? separation : nil
    var sent: [Int] = []
    while sent.count < limit, let (topic, left) = topics.next(at: now),
      let run = topic.upcoming(atMost: min(limit - sent.count, left))
    {
      let part = separation.map { $0.separate(run, of: topic, at: now) } ?? run
      guard let part else { continue }
      sent += part.first.index..<part.first.index + part.count
      topic.queue.drop(part, part.count)
      topics.took(part.count)
    }
    return sent
  }

  @Test func knownTokensGoOnAndOthersWaitApart() {
    know(["k0", "k1", "k2"])
    append(["k0", "u0", "u1", "k1", "u2", "k2"])
    #expect(send(100, at: 2 * Self.second) == [0, 3, 5])
    #expect(topics.apartCount == 3 && topics.readyCount == 3)
    #expect(topics.sendableCount(at: 2 * Self.second) == 0)
    var apart: [Int] = []
    while let (topic, run) = separation.next() {
      apart.append(run.first.index)
      topic.queue.drop(run, 1)
      separation.sentApart(at: 2 * Self.second)
    }
    #expect(apart == [1, 2, 4] && !topics.hasPushes)
  }

  /// Where there is no room, nobody waits for it.
  @Test func whatFindsNoRoomGoesWithTheOthers() {
    append((0..<UnprovenQueue.maximum + 100).map { "u\($0)" })
    append(["v0", "v1"], "b")
    #expect(send(1_000, at: 2 * Self.second).count == 102)
    #expect(topics.apartCount == UnprovenQueue.maximum)
  }

  /// A topic of which all that is here is apart keeps no other from its turn.
  @Test func aTopicThatIsApartHasNoTurn() {
    know(["k0"])
    append(["u0"], "a")
    append(["u1"], "b")
    #expect(send(10, at: 2 * Self.second) == [])
    append(["k0"], "b")
    #expect(send(10, at: 2 * Self.second) == [0])
    #expect(topics.apartCount == 2)
  }

  /// After that they go with all others, and not apart once more; and where nothing was sent apart
  /// meanwhile, nobody parts for a while.
  @Test func nobodyIsApartForLong() {
    append(["u0", "u1"])
    #expect(send(10, at: 2 * Self.second) == [])
    append(["u2"])
    #expect(send(10, at: 3 * Self.second - 1) == [])
    #expect(send(10, at: 3 * Self.second) == [0, 1, 0])
    append(["u3"])
    #expect(send(10, at: 3 * Self.second + TokenIsolation.rest - 1) == [0])
    append(["u4"])
    #expect(send(10, at: 3 * Self.second + TokenIsolation.rest) == [])
  }

  /// Where some are sent apart, the others have waited long enough too; but separation goes on.
  @Test func whatIsTooMuchForItsConnectionsComesBack() throws {
    append(["u0", "u1"])
    #expect(send(10, at: 2 * Self.second) == [])
    let (topic, run) = try #require(separation.next())
    topic.queue.drop(run, 1)
    separation.sentApart(at: 2 * Self.second + 1)
    append(["u2"])
    #expect(send(10, at: 3 * Self.second) == [1])
    #expect(topics.apartCount == 1)
  }

  /// Those of all topics go in the order they came.
  @Test func topicsHaveNoPreferenceApart() {
    for (offset, name) in ["a", "b", "a"].enumerated() {
      append(["u\(offset)"], name)
      _ = send(10, at: 2 * Self.second + UInt64(offset))
    }
    var names: [String] = []
    while let (topic, run) = separation.next() {
      names.append(topic.name)
      topic.queue.drop(run, 1)
    }
    #expect(names == ["a", "b", "a"])
  }

  enum Trouble: CaseIterable {
    /// A rate bounds what is sent; connections are lost often; credentials are in doubt; an hour
    /// has gone.
    case rate, losses, doubt, hour
  }

  /// Where something other than streams is short, all go together.
  @Test(arguments: Trouble.allCases)
  func inOtherTroubleAllGoTogether(trouble: Trouble) {
    append(["u0", "u1"])
    #expect(send(10, at: 2 * Self.second) == [])
    var now = 2 * Self.second + 1
    switch trouble {
    case .rate: traffic.calm(sentAt: now, at: now)
    case .losses: traffic.lost(openedAt: 1, at: now)
    case .doubt:
      _ = topics.topic(named: "a").gate.refused(refusals: 1, sentAt: now, at: now, hold: 1)
    case .hour:
      now += TokenIsolation.memory
      traffic.forget(at: now)
    }
    append(["u2"])
    #expect(send(3, at: now).sorted() == [0, 0, 1])
    #expect(topics.apartCount == 0)
  }

  /// Limits look for what they hold up in its line.
  @Test func whatALimitMayHoldUpIsNotSeparated() {
    let limit = PushLimit(.app("a"), rate: 10)
    limit.grant(10)
    append(["u0"], "a", SegmentTally(of: FanOut(limits: [limit])))
    #expect(send(10, at: 2 * Self.second) == [0])
  }
}
