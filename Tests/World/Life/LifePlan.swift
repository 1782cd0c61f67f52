import Text

/// What a life is made of, and all that happens in it, as a seed draws it. Each deed can be left
/// out, and the others stay as they are.
package struct LifePlan: Sendable {
  package struct Streamer: Sendable {
    /// The first of the users who follow from the beginning, and how many.
    package let first: Int
    package let count: Int
    package let shards: Int
  }

  package struct Timed: Sendable {
    package let number: Int
    package let at: Duration
    package let deed: Deed
  }

  package let seed: UInt64
  package private(set) var streamers: [Streamer] = []
  package private(set) var users = 0
  /// The last users change their devices and follows while events run.
  package private(set) var restless: Range<Int> = 0..<0
  package private(set) var workers = 0
  package private(set) var lanes = 1
  /// One way, at most, when nothing is wrong.
  package private(set) var wayToApple: Duration = .milliseconds(1)
  /// How long Apple thinks.
  package private(set) var appleThinks: Duration = .zero
  /// Pushes that Apple lets a connection have under way.
  package private(set) var streams = 1000
  package private(set) var events: [Event] = []
  package private(set) var deeds: [Timed] = []
  package let tracesAll: Bool
  /// Whether devices are of all platforms: in one life of four. Other lives are as they were before
  /// there was such a one.
  package let hasAllPlatforms: Bool
  private var numbers: SplitMix64

  package struct Event: Sendable {
    package let streamer: Int
    package let expiresIn: Int
  }

  /// When the first event is written, and the last fault begins, at most.
  static let quietStart: Duration = .seconds(9)
  static let lastDeed: Duration = .seconds(70)

  package init(seed: UInt64) {
    self.seed = seed
    var chance = SplitMix64(seed: seed ^ 0x504C_4154_464F_524D)
    hasAllPlatforms = chance.next() % 4 == 0
    numbers = SplitMix64(seed: seed ^ 0x4C49_4645)
    tracesAll = numbers.next() % 2 == 0
    drawAudience()
    drawApple()
    drawWorkers()
    drawEvents()
    drawBackends()
    drawFaults()
    if hasAllPlatforms { drawServices() }
    deeds = deeds.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
      .enumerated().map {
        Timed(number: $0.offset, at: $0.element.element.at, deed: $0.element.element.deed)
      }
  }

  /// The same life without some of its deeds.
  package func without(_ left: Set<Int>) -> LifePlan {
    var plan = self
    plan.deeds.removeAll { left.contains($0.number) }
    return plan
  }

  package var faults: [Timed] { deeds.filter(\.deed.isFault) }

  // MARK: drawing

  mutating func number(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + Int(numbers.next() % UInt64(range.count))
  }

  mutating func chance(_ percent: Int) -> Bool { number(1...100) <= percent }

  private mutating func time(from first: Duration, to last: Duration) -> Duration {
    .milliseconds(number(Int(first / .milliseconds(1))...Int(last / .milliseconds(1))))
  }

  mutating func add(_ deed: Deed, at time: Duration) {
    deeds.append(Timed(number: 0, at: time, deed: deed))
  }

  /// One of a few, which lives share: writing it takes longer than much of a life.
  package var audience: Int { Int(seed % UInt64(Self.audiences)) }
  static let audiences = 8

  /// Whether Apple closes connections at some devices.
  var hasClosers: Bool { audience % 4 == 3 }

  /// Draws from another stream of chance, and leaves the life's own as it was.
  mutating func draw(from other: SplitMix64, _ body: (inout LifePlan) -> Void) {
    let own = numbers
    numbers = other
    body(&self)
    numbers = own
  }

  private mutating func drawAudience() {
    draw(from: SplitMix64(seed: UInt64(audience))) { $0.drawFollowers() }
  }

  private mutating func drawFollowers() {
    let sizes = [
      number(1_400...1_700), number(900...1_100), number(250...350), number(150...300),
      number(100...200), number(40...100), number(5...40), number(1...5), 0,
    ]
    for (index, size) in sizes.enumerated() {
      let shards =
        index < 3 ? 1 << number(0...(index == 1 ? 7 : 4)) : index < 5 ? 1 << number(0...1) : 1
      streamers.append(Streamer(first: users, count: size, shards: shards))
      users += size
    }
    let many = number(150...200)
    restless = users..<users + many
    users += many
  }

  private mutating func drawApple() {
    wayToApple = .milliseconds([1, 1, 10, 40][number(0...3)])
    appleThinks = .milliseconds([0, 2, 20, 60][number(0...3)])
    streams = [1000, 200, 50, 10][number(0...3)]
  }

  private mutating func drawWorkers() {
    let first = number(1...3)
    lanes = number(1...2)
    for worker in 0..<first { add(.start(worker: worker), at: time(from: .zero, to: .seconds(3))) }
    workers = first
    for _ in 0..<number(0...2) where workers < 4 {
      add(.start(worker: workers), at: time(from: .seconds(10), to: .seconds(60)))
      workers += 1
    }
    // The first one stays.
    for worker in 1..<max(workers, 1) where chance(35) {
      let at = time(from: .seconds(12), to: .seconds(55))
      add(.stop(worker: worker), at: at)
      if chance(60) {
        add(.start(worker: worker), at: at + time(from: .seconds(1), to: .seconds(12)))
      }
    }
  }

  private mutating func drawEvents() {
    for index in 0..<number(20...26) {
      // Large audiences more seldom.
      let streamer = chance(4) ? number(0...1) : chance(12) ? 2 : number(3...8)
      let expiresIn = chance(12) ? number(3...20) : 900
      events.append(Event(streamer: streamer, expiresIn: expiresIn))
      let at = time(from: Self.quietStart, to: .seconds(62))
      add(.emit(event: index), at: at)
      if chance(15) { add(.emitAgain(event: index), at: at + time(from: .zero, to: .seconds(8))) }
      switch number(1...100) {
      case 1...6:
        add(
          .pause(event: index, .milliseconds(number(500...9_000))),
          at: at + .milliseconds(number(5...3_000)))
      case 7...12: add(.cancel(event: index), at: at + .milliseconds(number(5...3_000)))
      case 13...16: add(.endStream(event: index), at: at + .milliseconds(number(5...3_000)))
      default: break
      }
    }
    if chance(40) { add(.emitNonsense, at: time(from: Self.quietStart, to: .seconds(60))) }
  }

  private mutating func drawBackends() {
    func user(_ plan: inout LifePlan) -> Int {
      plan.number(plan.restless.lowerBound...plan.restless.upperBound - 1)
    }
    func streamer(_ plan: inout LifePlan) -> Int { plan.number(0...plan.streamers.count - 1) }
    for _ in 0..<number(40...70) {
      let at = time(from: .seconds(6), to: .seconds(66))
      switch number(1...8) {
      case 1...2: add(.bind(user: user(&self)), at: at)
      case 3: add(.unbind(user: user(&self)), at: at)
      case 4: add(.move(from: user(&self), to: user(&self)), at: at)
      case 5...6: add(.follow(user: user(&self), streamer: streamer(&self)), at: at)
      case 7: add(.unfollow(user: user(&self), streamer: streamer(&self)), at: at)
      default: add(.forget(user: user(&self)), at: at)
      }
    }
    for _ in 0..<number(0...2) {
      add(.divide(streamer: number(0...4)), at: time(from: .seconds(8), to: .seconds(60)))
    }
  }

  private mutating func drawFaults() {
    for _ in 0..<number(10...16) {
      let at = timeOfFault()
      // Most are short, some are longer than claims and sessions.
      let duration: Duration = .milliseconds(
        chance(75) ? number(100...4_000) : number(4_000...20_000))
      switch number(1...10) {
      case 1: drawKill(at)
      case 2: add(.freeze(worker: number(0...workers - 1), duration), at: at)
      case 3:
        add(
          .skew(
            worker: number(0...workers - 1), milliseconds: Int64(number(-20_000...20_000)), duration
          ), at: at)
      case 4...6:
        let fault = drawAppleFault()
        // Each byte for itself costs the world's own time.
        let isCostly = if case .pieces(...9) = fault { true } else { false }
        add(.apple(fault, isCostly ? min(duration, .milliseconds(400)) : duration), at: at)
      case 7...8: add(.redis(drawRedis(), duration), at: at)
      default: add(.kafka(drawKafka(), duration), at: at)
      }
    }
  }

  /// Mostly in the middle of an event.
  mutating func timeOfFault() -> Duration {
    guard chance(75) else { return time(from: Self.quietStart, to: Self.lastDeed) }
    let begins = deeds.compactMap { timed in
      if case .emit = timed.deed { timed.at } else { nil }
    }
    return begins[number(0...begins.count - 1)]
      + (chance(50) ? time(from: .zero, to: .milliseconds(60)) : time(from: .zero, to: .seconds(2)))
  }

  private mutating func drawKill(_ at: Duration) {
    let worker = number(0...workers - 1)
    add(.kill(worker: worker, afterTurns: chance(70) ? number(0...600) : 0), at: at)
    add(.start(worker: worker), at: at + time(from: .milliseconds(500), to: .seconds(12)))
  }

  private mutating func drawAppleFault() -> ServiceFault {
    switch number(1...11) {
    case 1: .refused
    case 2: .silent
    case 3: .cut
    case 4: .slow(.milliseconds(number(5...800)))
    case 5: .pieces([1, 9, 100, 700][number(0...3)])
    case 6:
      .mix(
        [
          "429=0.3", "429=0.6", "503=0.3,500=0.1", "reset=0.1", "silence=0.02", "Shutdown=0.2",
          "drop=0.005", "410=0.5", "400=0.5",
          "InvalidProviderToken=1", "ExpiredProviderToken=0.3", "TooManyProviderTokenUpdates=0.5",
        ][number(0...11)])
    case 7: .goAway(after: number(1...300), behind: number(0...20))
    case 8: .streams([0, 1, 2, 10, 100][number(0...4)])
    case 9: .window(number(0...4_000))
    case 10: .dropAfter(number(1...400))
    default: .latency(.milliseconds(number(10...1_500)))
    }
  }

  private mutating func drawRedis() -> RedisFault {
    switch number(1...10) {
    case 1: .refused
    case 2: .silent
    case 3: .cut
    case 10: .readOnly
    case 4: .loading
    case 5: .outOfMemory
    case 6: .slow(.milliseconds(number(1...200)))
    case 7: .losesReplies(number(1...6))
    case 8: .denies(["evalsha", "hset", "smembers", "sadd", "hmget", "wait"][number(0...5)])
    default: .failOver(lost: chance(50) ? 0 : number(1...60))
    }
  }

  private mutating func drawKafka() -> KafkaFault {
    switch number(1...10) {
    case 1: .away
    case 2: .rebalance
    case 3: .cut(worker: number(0...workers - 1))
    case 4: .evict(worker: number(0...workers - 1))
    case 5: .commitsRefused(number(1...3))
    case 6: .producesRefused(number(1...3))
    case 7: .producesUnanswered(number(1...3))
    case 8: .twice(topic: number(0...3))
    case 9: .retention(topic: number(0...3), keeps: number(0...3))
    default: .controlRecords
    }
  }
}
