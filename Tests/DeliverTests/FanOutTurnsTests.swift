import Model
import Testing

@testable import Deliver

/// In which order a topic's pushes go, of which fan-outs take turns.
@Suite struct FanOutTurnsTests {
  private final class Event {
    let name: String
    let tally: SegmentTally
    init(_ name: String, isSmall: Bool = false) {
      self.name = name
      tally = SegmentTally(of: FanOut(isSmall: isSmall))
    }
  }

  private struct Line {
    private let outliers = Outliers()
    let queue: TopicQueue
    var events: [Event] = []
    var turn = 10

    init() { queue = .made(outliers: outliers) }

    func set(outliers events: [Event]) {
      outliers.replace(by: events.map(\.tally.fanOut))
      queue.classify()
    }

    mutating func append(_ count: Int, _ event: Event) {
      events.append(event)
      let destinations = [Destination](repeating: .production, count: count)
      _ = queue.append(.made(topic: "a.b", destinations, event.tally))
    }

    mutating func putBack(_ count: Int, _ event: Event) {
      events.append(event)
      let destinations = [Destination](repeating: .production, count: count)
      let batch = PushBatch.made(topic: "a.b", destinations, event.tally)
      let history = PushHistory(tries: 1, losses: 0, refusals: 0, mayHaveArrived: false)
      for index in 0..<count {
        queue.append(ReadyPush(batch: batch, index: index, history: history))
      }
    }

    mutating func expect(_ pushes: Int, atMost limit: Int = .max, _ order: [String]) {
      let taken = take(pushes, atMost: limit)
      #expect(taken == order)
    }

    /// Whose pushes go next, and how many one behind the other.
    mutating func take(_ pushes: Int, atMost limit: Int = .max) -> [String] {
      var left = pushes
      var taken: [(name: String, count: Int)] = []
      while left > 0, let run = queue.upcoming(atMost: min(left, limit), turn: turn) {
        queue.drop(run, run.count)
        left -= run.count
        let name = events.first { $0.tally === run.first.tally }?.name ?? "?"
        if taken.last?.name == name {
          taken[taken.count - 1].count += run.count
        } else {
          taken.append((name, run.count))
        }
      }
      return taken.map { "\($0.name)\($0.count)" }
    }
  }

  @Test func fanOutsTakeTurns() {
    var line = Line()
    line.append(100, Event("a"))
    line.append(25, Event("b"))
    line.append(15, Event("c"))
    let order = ["a10", "b10", "c10", "a10", "b10", "c5", "a10", "b5", "a70"]
    line.expect(140, order)
    #expect(line.queue.count == 0)
  }

  @Test func aTurnGoesOnWhereItStopped() {
    var line = Line()
    line.append(30, Event("a"))
    line.expect(4, ["a4"])
    line.append(30, Event("b"))
    line.expect(12, atMost: 3, ["a6", "b6"])
    line.expect(10, ["b4", "a6"])
  }

  /// Those that come back belong to their fan-out, however many they are.
  @Test func whatComesBackWaitsForItsFanOutsTurn() {
    var line = Line()
    let failing = Event("f")
    line.putBack(1_000, failing)
    line.append(200, failing)
    line.expect(5, ["f5"])
    line.append(40, Event("g"))
    line.expect(85, ["f5", "g10", "f10", "g10", "f10", "g10", "f10", "g10", "f10"])
  }

  @Test func smallOnesGoFirstAndOthersGoOn() {
    var line = Line()
    line.append(100, Event("l"))
    line.expect(10, ["l10"])
    line.append(1_000, Event("s", isSmall: true))
    line.append(15, Event("t", isSmall: true))
    let taken = line.take(100)
    #expect(taken.first != "l10")
    #expect(taken.reduce(0) { $0 + ($1.hasPrefix("l") ? Int($1.dropFirst()) ?? 0 : 0) } == 20)
    // The two take turns among themselves.
    #expect(taken.reduce(0) { $0 + ($1.hasPrefix("t") ? Int($1.dropFirst()) ?? 0 : 0) } == 15)
    line.append(5, Event("u", isSmall: true))
    let next = line.take(30)
    #expect(next.contains("u5"))
  }

  @Test func turnsThatBecomeShorterAreShorterAtOnce() {
    var line = Line()
    line.append(30, Event("a"))
    line.append(30, Event("b"))
    line.expect(2, ["a2"])
    line.turn = 1
    line.expect(4, ["a1", "b1", "a1", "b1"])
  }

  /// Whatever they are, and however many: others go first, and they go on.
  @Test func outliersGoBehindOthers() {
    var line = Line()
    let (bad, worse) = (Event("b"), Event("w", isSmall: true))
    line.append(50, bad)
    line.append(50, worse)
    line.set(outliers: [bad, worse])
    line.append(40, Event("g"))
    line.append(20, Event("s", isSmall: true))
    let order = ["s20", "g10", "w10", "g30", "b10", "w10", "b10", "w10", "b10", "w10"]
    line.expect(130, order)
  }

  /// Also of one that has the turn, and of one that comes later.
  @Test func aFanOutMayBecomeAnOutlierLater() {
    var line = Line()
    let (bad, good) = (Event("b"), Event("g"))
    line.append(100, bad)
    line.expect(4, ["b4"])
    line.append(100, good)
    line.set(outliers: [bad])
    line.expect(31, ["g30", "b1"])
    line.append(10, bad)
    line.set(outliers: [good])
    line.expect(20, ["b20"])
    line.set(outliers: [])
    line.expect(20, ["g10", "b10"])
    #expect(
      line.queue.sharing(.outlier).fanOuts == 0 && line.queue.sharing(.large).fanOuts == 2
    )
    line.set(outliers: [bad, good])
    #expect(
      line.queue.sharing(.outlier).fanOuts == 2 && line.queue.sharing(.large).fanOuts == 0
    )
    #expect(line.queue.sharing(.outlier).fresh == line.queue.count && line.queue.oldest == nil)
  }

  @Test func whoseLastPushLeavesMakesRoomForTheNext() {
    var line = Line()
    let events = (0..<50).map { Event("\($0)-", isSmall: $0 % 3 == 0) }
    for round in 0..<20 {
      for event in events { line.append(round % 7, event) }
      for event in events where round % 2 == 0 { line.putBack(2, event) }
      _ = line.queue.take(of: events[round].tally)
      let left = line.queue.count
      #expect(left == events.reduce(0) { $0 + line.queue.count(of: $1.tally.fanOut) })
      while line.queue.count > left / 3, line.queue.next() != nil {}
    }
    while line.queue.next() != nil {}
    #expect(line.queue.count == 0 && line.queue.sharing(.small).fanOuts == 0)
    #expect(line.queue.sharing(.large).fanOuts == 0 && line.queue.oldest == nil)
  }
}
