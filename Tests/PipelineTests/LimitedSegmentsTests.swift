import EventLoop
import Model
import Record
import Testing
import Threads

@testable import Pipeline

/// Which segments of fan-outs that a limit holds up are worked on, and which wait.
@Suite struct LimitedSegmentsTests {
  /// Confined to one loop, as a lane's.
  private actor Bed {
    private let loop = EventLoop(name: "test")
    private let limit = PushLimit(.app("a.b"), rate: 1)
    private let limited = LimitedSegments()
    private var fanOuts: [String: FanOut] = [:]
    private var runs: [String: SegmentRun] = [:]
    private let other = PushLimit(.app("a.c"), rate: 1)
    private var now: Int64 = 0
    private var came = 0
    private(set) var released: [String] = []
    private(set) var begun: [String] = []
    private(set) var deferred: [String] = []
    private(set) var stopped: [String] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init() {
      for limit in [limit, other] {
        limit.grant(1)
        limit.take(1)
        limit.lack()
      }
    }

    nonisolated func end() { loop.stop() }

    var waiting: Int { limited.waitingRuns.count }

    /// `a.0` is a segment of fan-out a, `s.0` one of a small fan-out, `free.0` one without limits.
    private func make(_ name: String) -> SegmentRun {
      let event = String(name.prefix { $0 != "." })
      let fanOut =
        fanOuts[event]
        ?? FanOut(
          isSmall: event.hasPrefix("s"),
          limits: event == "free" ? [] : [event.hasPrefix("o") ? other : limit])
      fanOuts[event] = fanOut
      let segment = Segment(
        event: Event(
          id: event, app: "a.b", streamer: "s1", stream: "b1", template: "go-live",
          occurredAt: 0, expiresAt: 1, fields: [:], document: []),
        slice: .plain(key: name), count: 1)
      let slot = LaneSlot { [weak self] in self?.assumeIsolated { $0.released.append(name) } }
      return SegmentRun(
        claim: Claim(segment: segment, owner: "w"), of: fanOut, slot: slot, loop: loop,
        memory: unbounded)
    }

    func come(_ names: String...) async {
      for name in names {
        let run = make(name)
        runs[name] = run
        came += 1
        Task {
          do {
            switch try await limited.turn(of: run, at: now) {
            case .now, .later: begun.append(name)
            case .deferred: deferred.append(name)
            }
          } catch {
            stopped.append(name)
          }
        }
        await settle()
      }
    }

    func holdsUp(_ name: String) -> Bool { limited.holdsUp(make(name).segment.event) }

    func end(_ name: String) async {
      if let run = runs.removeValue(forKey: name) { limited.end(run) }
      await settle()
    }

    func look() async {
      limited.update(runs.keys.sorted().compactMap { runs[$0] }, now: now)
      await settle()
    }

    func stop() async {
      limited.stop()
      await settle()
    }

    func rest() { limit.rest() }
    func expire() { now = 1 }
    func halt(_ event: String) { fanOuts[event]?.halt = .cancelled }
    func lack() { limit.lack() }

    /// Each that came waits, or was told what becomes of it. Where a task runs on after a wait is
    /// the runtime's business: yielding a number of times is not enough.
    private func settle() async {
      while limited.waitingRuns.count + begun.count + deferred.count + stopped.count < came {
        await Task.yield()
      }
    }
  }

  private func run(_ body: (Bed) async -> Void) async {
    let bed = Bed()
    await body(bed)
    bed.end()
  }

  @Test func whatHasNoLimitHasItsPlace() async {
    await run { bed in
      await bed.come("free.0", "free.1", "free.2", "free.3", "free.4")
      #expect(await bed.begun.count == 5)
      #expect(await bed.released.isEmpty)
    }
  }

  @Test func twoOfAFanOutAreWorkedOnWithoutPlaces() async {
    await run { bed in
      await bed.come("a.0", "a.1", "a.2", "a.3")
      #expect(await bed.begun == ["a.0", "a.1"])
      #expect(await bed.released == ["a.0", "a.1", "a.2", "a.3"])
      await bed.end("a.0")
      #expect(await bed.begun == ["a.0", "a.1", "a.2"])
      await bed.end("a.1")
      await bed.end("a.2")
      #expect(await bed.begun.count == 4)
      #expect(await bed.waiting == 0)
    }
  }

  /// Twelve fan-outs have as many segments of a limit as there may be; large ones of two limits
  /// leave some to small ones.
  @Test func oneLimitLeavesRoomToAnotherAndLargeOnesToSmallOnes() async {
    await run { bed in
      for number in 0..<12 { await bed.come("a\(number).0", "a\(number).1") }
      #expect(await bed.begun.count == LimitedSegments.maximumOfLimit)
      await bed.come("b.0", "s1.0")
      #expect(await bed.begun.count == LimitedSegments.maximumOfLimit)
      for number in 0..<12 { await bed.come("o\(number).0", "o\(number).1") }
      #expect(await bed.begun.count == 2 * LimitedSegments.maximumOfLimit)
      // The small one that waits goes before the large one that waits longer.
      await bed.end("a0.0")
      #expect(await bed.begun.last == "s1.0")
    }
  }

  @Test func whoeverHasLeastUnderWayGoesFirst() async {
    await run { bed in
      await bed.come("a.0", "a.1")
      for number in 0..<11 { await bed.come("b\(number).0", "b\(number).1") }
      await bed.come("b0.2", "c.0")
      await bed.end("a.0")
      #expect(await bed.begun.last == "c.0")
    }
  }

  /// What is left of it to do is soon done.
  @Test(arguments: [true, false]) func whatIsOverWaitsNoLonger(isExpired: Bool) async {
    await run { bed in
      await bed.come("a.0", "a.1", "a.2", "a.3", "b.0")
      #expect(await bed.waiting == 2)
      if isExpired { await bed.expire() } else { await bed.halt("a") }
      await bed.look()
      #expect(await bed.waiting == 0)
      await bed.come("a.4")
      #expect(await bed.begun.last == "a.4")
    }
  }

  /// What one fan-out waits for is nothing to another.
  @Test func oneThatHasRoomWaitsForNobody() async {
    await run { bed in
      await bed.come("a.0", "a.1", "a.2", "b.0")
      #expect(await bed.begun == ["a.0", "a.1", "b.0"])
      await bed.end("b.0")
      #expect(await bed.begun.count == 3, "two of a fan-out, whoever else has ended")
      await bed.come("b.1")
      #expect(await bed.begun.last == "b.1")
      #expect(await bed.waiting == 1)
    }
  }

  /// Its limit holds it up no longer: it goes as far as there is room, without an end of others.
  @Test func whatIsHeldUpNoLongerGoesOn() async {
    await run { bed in
      await bed.come("a.0", "a.1", "a.2", "a.3", "a.4")
      #expect(await bed.begun.count == 2)
      await bed.rest()
      await bed.look()
      #expect(await bed.begun.sorted() == ["a.0", "a.1", "a.2", "a.3", "a.4"])
    }
  }

  @Test func soManyWaitAndTheOthersArePutOff() async {
    await run { bed in
      await bed.come("a.0", "a.1")
      for number in 2..<(3 + LimitedSegments.maximumWaiting) { await bed.come("a.\(number)") }
      #expect(await bed.waiting == LimitedSegments.maximumWaiting)
      #expect(await bed.deferred == ["a.\(2 + LimitedSegments.maximumWaiting)"])
    }
  }

  /// The next window of a giant is written when nothing of the one before waits.
  @Test func moreOfWhatWaitsIsOfNoUse() async {
    await run { bed in
      #expect(await !bed.holdsUp("a.9"))
      await bed.come("a.0", "a.1", "a.2")
      #expect(await bed.holdsUp("a.9"))
      #expect(await !bed.holdsUp("b.9"))
      for number in 3..<(2 + LimitedSegments.maximumWaiting) { await bed.come("a.\(number)") }
      #expect(await bed.holdsUp("b.9"), "nobody else can wait")
    }
  }

  @Test func runsThatBecomeLimitedReleaseTheirSlots() async {
    await run { bed in
      await bed.rest()
      for number in 0..<70 { await bed.come("a\(number).0") }
      await bed.come("free.0")
      #expect(await bed.begun.count == 71)
      await bed.look()
      #expect(await bed.released.isEmpty, "no limit holds them up")
      await bed.lack()
      await bed.look()
      #expect(await bed.released.count == LimitedSegments.maximum)
      #expect(await !bed.released.contains("free.0"))
      // One that has a limit takes no place when none of these would be left for it.
      await bed.rest()
      await bed.come("z.0")
      #expect(await bed.waiting == 1)
    }
  }

  @Test func aLaneThatStopsLetsNobodyWait() async {
    await run { bed in
      await bed.come("a.0", "a.1", "a.2")
      await bed.stop()
      #expect(await bed.stopped == ["a.2"])
      await bed.come("a.3")
      #expect(await bed.stopped == ["a.2", "a.3"])
    }
  }
}
