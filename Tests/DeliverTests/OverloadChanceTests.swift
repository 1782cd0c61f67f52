import Testing
import Text

@testable import Deliver

/// Pushes that come back after a back-off when they are refused, until all are taken: by a server
/// that refuses a part of them by chance, and by one that has too much of them.
@Suite struct OverloadChanceTests {
  /// Pushes that become ready after so many milliseconds.
  typealias Arrivals = [(at: Int, count: Int)]

  private struct Push {
    let id: Int
    var tries = 0
  }

  /// What chance does to a push at a try is the same whatever was sent before it.
  private struct FanOut {
    var overload = Overload()
    var taken = 0
    var refused = 0
    /// Pushes that were taken by the end of each second.
    var takenBySecond: [Int] = []
    var milliseconds = 0
    private var ready: [Push] = []
    private var waiting: [Int: [Push]] = [:]
    private var onTheWay: [(at: Int, sentAt: UInt64, push: Push, isTaken: Bool)] = []
    private let seed: Int

    init(seed: Int) { self.seed = seed }

    private func chance(_ push: Push, _ salt: Int = 0) -> Double {
      var random = SplitMix64(seed: UInt64(seed * 1_000_003 + push.id * 64 + push.tries + salt))
      _ = random.next()
      return Double(random.next() >> 11) / Double(1 << 53)
    }

    /// - Returns: the seconds until all were taken.
    mutating func run(
      _ arrivals: Arrivals, share: Double = 0, isBounded: Bool = true, limit: Int = 600_000,
      backOff: Int = 200, takes: (Int) -> Bool = { _ in true }
    ) -> Double {
      let total = arrivals.reduce(0) { $0 + $1.count }
      var (arrived, ids, head) = (0, 0, 0)
      while taken < total, milliseconds < limit {
        milliseconds += 1
        let now = UInt64(1_000 + milliseconds) * 1_000_000
        var answered = 0
        for answer in onTheWay {
          guard answer.at <= milliseconds else { break }
          answered += 1
          overload.answered(isFailure: !answer.isTaken, sentAt: answer.sentAt, at: now)
          if answer.isTaken { taken += 1 } else { wait(answer.push, backOff) }
        }
        if answered > 0 { onTheWay.removeFirst(answered) }
        if let back = waiting.removeValue(forKey: milliseconds) { ready += back }
        while arrived < arrivals.count, arrivals[arrived].at <= milliseconds {
          for _ in 0..<arrivals[arrived].count {
            ready.append(Push(id: ids))
            ids += 1
          }
          arrived += 1
        }
        let room = min(500 - onTheWay.count, ready.count - head)
        let allowed = isBounded ? overload.allowance(ready: ready.count - head, at: now) : room
        // Nothing happens in most milliseconds.
        let next = head + min(room, allowed)
        while head < next {
          let push = ready[head]
          head += 1
          overload.take(1)
          let isTaken = chance(push) >= share && takes(milliseconds)
          onTheWay.append((milliseconds + 50, now, push, isTaken))
        }
        if head == ready.count {
          ready.removeAll()
          head = 0
        }
        if milliseconds % 1_000 == 0 {
          overload.forget(at: now)
          takenBySecond.append(taken)
        }
      }
      return Double(milliseconds) / 1_000
    }

    private mutating func wait(_ push: Push, _ backOff: Int) {
      refused += 1
      let full = min(backOff << min(push.tries, 10), 30_000)
      let delay = full / 2 + Int(chance(push, 32) * Double(full / 2))
      waiting[milliseconds + delay, default: []].append(Push(id: push.id, tries: push.tries + 1))
    }
  }

  /// Takes so many a second.
  private struct Capacity {
    let perSecond: Double
    var left = 0.0
    var since = 0

    mutating func takes(_ milliseconds: Int) -> Bool {
      let earned = Double(milliseconds - since) * perSecond / 1_000
      left = min(max(1, perSecond / 20), left + earned)
      since = milliseconds
      guard left >= 1 else { return false }
      left -= 1
      return true
    }
  }

  private static let arrivals: [Arrivals] = [
    // The last pushes of a fan-out come back when the next one begins.
    [(1, 3_000), (2_500, 8_000)],
    (0..<60).map { ($0 * 200 + 1, 100) },
    (0..<200).map { ($0 * 33 + 1, 1) } + [(6_700, 3_000)],
  ]

  @Test(arguments: [0.05, 0.1, 0.12, 0.15, 0.2, 0.3])
  func whatIsRefusedByChanceHoldsNobodyUp(share: Double) {
    for (number, arrivals) in Self.arrivals.enumerated() {
      for seed in 0..<12 {
        var bounded = FanOut(seed: seed)
        let seconds = bounded.run(arrivals, share: share)
        var unbounded = FanOut(seed: seed)
        let ideal = unbounded.run(arrivals, share: share, isBounded: false)
        #expect(seconds < 1.2 * ideal + 1, "arrivals \(number), seed \(seed)")
      }
    }
  }

  /// Also with 10 % that fail whatever is sent: that is not for the pace.
  @Test(arguments: [20.0, 200, 5_000], [0.0, 0.1])
  func aServerIsSentWhatItTakes(perSecond: Double, share: Double) {
    var fanOut = FanOut(seed: 1)
    var capacity = Capacity(perSecond: perSecond)
    let pushes = Int(40 * perSecond)
    let seconds = fanOut.run([(1, pushes)], share: share) { capacity.takes($0) }
    #expect(seconds < 40 * 1.25 / (1 - share) + 60)
    // The first fifth of a second tells that there is a bound.
    #expect(fanOut.refused < pushes / 3 + 2_500)
  }

  @Test(arguments: [0.0, 0.1, 0.3])
  func afterAnOutageAllIsSentSoon(share: Double) {
    for seed in 0..<5 {
      var fanOut = FanOut(seed: seed)
      _ = fanOut.run([(1, 30_000)], share: share) { $0 > 5_000 }
      let byChance = Int(Double(fanOut.taken) * share / (1 - share))
      #expect(fanOut.refused - byChance < 4_000, "seed \(seed)")
      let half = fanOut.takenBySecond.firstIndex { $0 > 15_000 } ?? fanOut.takenBySecond.count
      #expect(half < 10, "seed \(seed)")
    }
  }
}
