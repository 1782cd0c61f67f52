import Model
import Testing
import Text

@testable import Deliver

/// Pushes that part, in any order of what may happen to them: each is in one place at any time, and
/// all of them come to their end.
@Suite struct SeparatedRunTests {
  @Test(arguments: 1...12)
  func everyPushIsInOnePlaceAndAllComeToTheirEnd(seed: UInt64) {
    var run = SeparatedRun(seed: seed)
    for _ in 0..<400 {
      run.step()
      run.check()
    }
    run.drain()
    run.check()
    #expect(run.left == 0 && run.mostApart > 0)
  }
}

/// A route's queues with two topics, four segments of three fan-outs, and connections that take
/// what chance says.
private struct SeparatedRun {
  private struct Name: Hashable {
    let batch: ObjectIdentifier
    let index: Int

    init(_ push: ReadyPush) {
      batch = ObjectIdentifier(push.batch)
      index = push.index
    }
  }

  private static let step: UInt64 = 100_000_000
  private var random: SplitMix64
  private var now: UInt64 = 10 * Self.step
  private let topics = RouteTopics(environment: .production)
  private let traffic = RouteTraffic(streamsPerConnection: 500)
  private let separation: TokenSeparation
  private let tallies: [SegmentTally]
  private var batches: [PushBatch] = []
  private var inFlight: [ReadyPush] = []
  private var over: Set<Name> = []
  private(set) var mostApart = 0

  init(seed: UInt64) {
    random = SplitMix64(seed: seed)
    separation = TokenSeparation(topics: topics, traffic: traffic)
    let fanOuts = [FanOut(isSmall: true), FanOut(), FanOut()]
    tallies = [0, 1, 1, 2].map { SegmentTally(of: fanOuts[$0]) }
    traffic.isolation.begin(at: now)
  }

  /// Those that have not come to their end.
  var left: Int { batches.reduce(0) { $0 + $1.entries.count } - over.count }

  private mutating func chance(_ of: UInt64) -> Bool { random.next() % of == 0 }
  private mutating func number(_ most: Int) -> Int { Int(random.next() % UInt64(most + 1)) }

  mutating func step() {
    now += UInt64(number(3)) * Self.step
    switch number(11) {
    case 0...2: admit()
    case 3...6: pump(number(60), apart: number(40))
    case 7: answer(number(100))
    case 8: forget()
    case 9: topics.set(isOpen: !chance(4), closedAfter: 1_000_000_000, at: now)
    case 10: doubt()
    default: trouble()
    }
  }

  private mutating func admit() {
    let tally = tallies[number(3)]
    let tokens = (0...number(60)).map { _ in "t\(random.next() % 400)" }
    let batch = PushBatch.made(topic: chance(2) ? "a" : "b", tokens: tokens, tally)
    batches.append(batch)
    let topic = topics.topic(named: batch.headers.topic)
    _ = topic.queue.append(batch)
    if topic.counts(tally) { tally.willSend(tokens.count) }
  }

  /// As a route hands out; connections apart may take nothing.
  private mutating func pump(_ limit: Int, apart: Int) {
    let isSeparating = separation.begin(at: now)
    var room = limit
    while room > 0, let (topic, left) = topics.next(at: now),
      var run = topic.upcoming(atMost: min(room, left))
    {
      if isSeparating {
        guard let part = separation.separate(run, of: topic, at: now) else { continue }
        run = part
      }
      send(run, topic)
      topics.took(run.count)
      room -= run.count
    }
    mostApart = max(mostApart, topics.apartCount)
    // Nothing that is apart has stopped another that might go.
    #expect(room == 0 || topics.sendableCount(at: now) == 0)
    for _ in 0..<(isSeparating ? apart : 0) {
      guard let (topic, run) = separation.next() else { break }
      send(run, topic)
      separation.sentApart(at: now)
    }
  }

  private mutating func send(_ run: ReadyRun, _ topic: TopicQueue) {
    topic.queue.drop(run, run.count)
    topic.left(run.first, count: run.count)
    for offset in 0..<run.count {
      var push = run.first
      push.index += offset
      push.isFirst = false
      inFlight.append(push)
    }
  }

  /// Most are taken, others are refused and go again, or have their end.
  private mutating func answer(_ most: Int) {
    for _ in 0..<min(most, inFlight.count) {
      let push = inFlight.remove(at: number(inFlight.count - 1))
      switch number(9) {
      case 0: topics.topic(named: push.topic).take(push)
      case 1: end(push)
      default:
        traffic.accepted(push, at: now)
        end(push)
      }
    }
  }

  private mutating func end(_ push: ReadyPush) {
    #expect(over.insert(Name(push)).inserted)
  }

  /// A segment leaves with all that is not in flight.
  private mutating func forget() {
    let tally = tallies[number(3)]
    for topic in topics.all {
      let taken = topic.queue.take(of: tally)
      if topic.counts(tally) { tally.noLongerUnsent(taken.count(where: \.isFirst)) }
      for push in taken { end(push) }
      #expect(!topic.queue.contains(tally))
    }
  }

  private mutating func doubt() {
    let topic = topics.topic(named: chance(2) ? "a" : "b")
    if chance(2) {
      _ = topic.gate.refused(refusals: 1, sentAt: now, at: now, hold: Self.step)
    } else {
      _ = topic.gate.taken(sentAt: now)
    }
  }

  private mutating func trouble() {
    if chance(2) {
      traffic.calm(sentAt: now, at: now)
    } else {
      now += 60_000_000_000
      traffic.forget(at: now)
      traffic.isolation.begin(at: now)
    }
  }

  func check() {
    #expect(topics.apartCount <= UnprovenQueue.maximum)
    var names = Set(inFlight.map(Name.init))
    #expect(names.count == inFlight.count && names.isDisjoint(with: over))
    var waiting = 0
    for topic in topics.all {
      waiting += topic.queue.count
      for push in topic.queue.apart.all { #expect(names.insert(Name(push)).inserted) }
    }
    #expect(names.isDisjoint(with: over))
    #expect(waiting + inFlight.count == left)
    for tally in tallies {
      let firsts = topics.all.reduce(0) { sum, topic in
        guard topic.counts(tally) else { return sum }
        return sum
          + topic.queue.firsts.reduce(0) { $0 + ($1.tally === tally ? $1.count : 0) }
      }
      #expect(tally.unsent == firsts)
    }
  }

  /// Connections apart are dead from now on; all others are well.
  mutating func drain() {
    for topic in topics.all { _ = topic.gate.taken(sentAt: now) }
    topics.set(isOpen: true, closedAfter: .max, at: now)
    for _ in 0..<200 where left > 0 {
      now += Self.step
      pump(1_000, apart: 0)
      for push in inFlight { end(push) }
      inFlight = []
    }
  }
}
