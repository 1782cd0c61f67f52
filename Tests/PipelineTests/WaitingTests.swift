import EventLoop
import Fixtures
import Kafka
import Model
import Record
import Telemetry
import Testing

@testable import Pipeline
@testable import Redis

/// Nobody waits for ever: not for batches, not for a dependency, not when the lane stops.
@Suite struct WaitingTests {
  private struct Down: Error {}

  @Test func endsItsWaitsWhenItStops() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let elapsed = await LoopActor(loop).run { _ in
      let timers = CancellableTimers(loop: loop)
      let began = loop.now
      await timers.wait(.milliseconds(2))
      loop.schedule(after: .milliseconds(5)) { timers.stop() }
      await timers.wait(.seconds(60))
      await timers.wait(.seconds(60))
      return loop.now - began
    }
    #expect(elapsed >= 7_000_000 && elapsed < 10_000_000_000)
  }

  @Test func repeatsWhatIsTransientAndStopsWithTheLane() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let calls = try await LoopActor(loop).run { _ in
      let timers = CancellableTimers(loop: loop)
      let board = WaitBoard()
      var retry = RetryUntilStopped(
        timers: timers, log: Log(LogOptions(level: .error), sink: MemorySink()),
        randomFraction: { 0 }, board: board)
      retry.initial = .milliseconds(1)
      var calls = 0
      try await retry.run(
        "up", isTransient: { (_: Down, _) in true },
        call: { () throws(Down) in
          calls += 1
          if calls < 4 { throw Down() }
        })
      retry.initial = .seconds(60)
      stopOnceSomebodyWaits(timers, board, loop)
      do {
        try await retry.run(
          "up", isTransient: { (_: Down, _) in true },
          call: { () throws(Down) in
            calls += 1
            throw Down()
          })
        Issue.record("did not stop")
      } catch { #expect(error is RetryUntilStopped.Stopped) }
      #expect(calls == 6, "once before the stop, and once more when that ends the wait")
      // What is begun after the stop has its one call.
      await #expect(throws: RetryUntilStopped.Stopped.self) {
        try await retry.run(
          "up", isTransient: { (_: Down, _) in true },
          call: { () throws(Down) in
            calls += 1
            throw Down()
          })
      }
      do {
        try await retry.run(
          "up", isTransient: { (_: Down, _) in false }, call: { () throws(Down) in throw Down() })
        Issue.record("repeated what is final")
      } catch { #expect(error is Down) }
      return calls
    }
    #expect(calls == 7)
  }

  /// `/readyz` has one line for what is waited for, and one for Redis.
  @Test func aReasonIsToldOnce() {
    let down = "Redis gave no connection within 5s: refused"
    let waits = [
      DependencyWait(cause: .redis, to: "open", text: down),
      DependencyWait(cause: .redis, to: "read", text: down),
      DependencyWait(cause: .redis, to: "write", text: "NOPERM"),
      DependencyWait(cause: .kafka, text: "no broker"),
    ]
    #expect(
      DependencyWait.words(waits, told: [])
        == ["to open, to read: \(down)", "to write: NOPERM", "no broker"])
    // Redis' own line says it.
    #expect(
      DependencyWait.words(waits, told: ["refused"])
        == ["to open, to read", "to write: NOPERM", "no broker"])
    #expect(waits[0].text == "to open: \(down)" && waits[3].text == "no broker")
  }

  private struct Odd: TransientError {
    var isTransient: Bool { true }
    var isUncertain: Bool { true }
    let isOutOfStep: Bool
  }

  @Test func aGuessIsWaitedForUntilTheEventExpiresAndAWhileAtTheLeast() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    await LoopActor(loop).run { _ in
      var retry = RetryUntilStopped(
        timers: CancellableTimers(loop: loop),
        log: Log(LogOptions(level: .error), sink: MemorySink()), randomFraction: { 0 })
      retry.initial = .milliseconds(1)
      retry.maximum = .milliseconds(1)
      let event = Event(
        id: "e", app: "a", streamer: "s", stream: "", template: "t", occurredAt: 0, expiresAt: 1,
        fields: [:], document: [])
      var distrusted = 0
      retry.distrust = { _ in distrusted += 1 }
      var calls = 0
      retry.isExpired = { _ in calls >= 7 }
      do {
        try await retry.persistent("up", for: event, grace: .zero) {
          calls += 1
          throw Odd(isOutOfStep: false)
        }
        Issue.record("it cannot end well")
      } catch { #expect(error is Odd) }
      #expect(calls == 7 && distrusted == 0)
      calls = 7
      do {
        try await retry.persistent("up", for: event, grace: .milliseconds(5)) {
          calls += 1
          throw Odd(isOutOfStep: true)
        }
        Issue.record("it cannot end well")
      } catch { #expect(error is Odd) }
      #expect(calls == 13 && distrusted == 6)
    }
  }

  @Test func aWaitNamesTheDependencyThatFailed() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let event = Event(
      id: "e", app: "a", streamer: "s", stream: "", template: "t", occurredAt: 0, expiresAt: 1,
      fields: [:], document: [])
    let errors: [(any Error, DependencyWait.Cause)] = [
      (KafkaError(code: .unreachable, message: "down"), .kafka),
      (RedisError(.unavailable, "down"), .redis),
      (RecordError(RedisError(.unavailable, "down")), .redis),
      (RecordError.clocksDisagree(over: event, ours: 2, redis: 0), .clock),
    ]
    for (error, cause) in errors {
      let waits = await LoopActor(loop).run { _ in
        let timers = CancellableTimers(loop: loop)
        let board = WaitBoard()
        let retry = RetryUntilStopped(
          timers: timers, log: Log(LogOptions(level: .error), sink: MemorySink()),
          randomFraction: { 0 }, board: board, initial: .seconds(60))
        var waits: [DependencyWait] = []
        loop.schedule(after: .milliseconds(1)) {
          waits = board.all
          timers.stop()
        }
        try? await retry.run(
          "Redis answers", isTransient: { (_: any Error, _) in true },
          call: { () throws(any Error) in throw error })
        return waits
      }
      #expect(waits == [DependencyWait(cause: cause, to: "Redis answers", text: "\(error)")])
    }
  }

  private func stopOnceSomebodyWaits(
    _ timers: CancellableTimers, _ board: WaitBoard, _ loop: EventLoop
  ) {
    loop.schedule(after: .milliseconds(1)) {
      guard board.all.isEmpty else { return timers.stop() }
      stopOnceSomebodyWaits(timers, board, loop)
    }
  }

  @Test func waitsForRoomAndForAll() async {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    await LoopActor(loop).run { _ in
      let run = segmentRun(loop, unbounded)
      run.tally.willSend(1)
      let batches = (0..<SegmentRun.maximumBatches).map { _ in batch() }
      for batch in batches.dropLast() { run.watch(batch) }
      #expect(await run.reached(.room))
      run.watch(batches[batches.count - 1])
      #expect(await !run.reached(.roomOrStalled, within: .milliseconds(1)))
      #expect(run.roomWait(atMost: .seconds(2)) == .zero)
      loop.schedule(after: .milliseconds(5)) { batches[3].settle(0, .accepted) }
      #expect(await run.reached(.roomOrStalled))
      #expect(await !run.reached(.allSettled, within: .milliseconds(1)))
      loop.schedule(after: .milliseconds(5)) {
        for (index, batch) in batches.enumerated() where index != 3 { batch.settle(0, .expired) }
      }
      #expect(await run.reached(.allSettled, within: .seconds(60)))
      #expect(await run.reached(.allSettled))
    }
  }

  @Test func goesOnWhenNothingMovesAnyMore() async {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    await LoopActor(loop).run { _ in
      let run = segmentRun(loop, unbounded)
      run.tally.willSend(2)
      for _ in 0..<SegmentRun.maximumBatches { run.watch(batch()) }
      loop.schedule(after: .milliseconds(2)) { run.tally.noLongerUnsent() }
      loop.schedule(after: .milliseconds(4)) { run.tally.noLongerUnsent() }
      #expect(await run.reached(.nothingUnsent))
      #expect(run.tally.unsent == 0)
      #expect(await run.reached(.roomOrStalled))
      #expect(await !run.reached(.room, within: .milliseconds(1)))
    }
  }

  /// Two segments of a lane: what one keeps is not there for the other, which has one batch of its
  /// own all the same.
  @Test func whatALaneKeepsIsBoundedForAllItsSegmentsTogether() async {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    await LoopActor(loop).run { _ in
      let batches = (0..<5).map { _ in batch() }
      let bytes = batches[0].bytes.capacity
      let memory = BatchMemory(maximum: 3 * bytes)
      let first = segmentRun(loop, memory)
      let second = segmentRun(loop, memory)
      for run in [first, second] { run.tally.willSend(1) }
      for batch in batches.prefix(3) { first.watch(batch) }
      #expect(memory.isFull && memory.bytes == 3 * bytes)
      #expect(await !first.reached(.roomOrStalled, within: .milliseconds(1)))
      #expect(await second.reached(.room))
      second.watch(batches[3])
      #expect(await !second.reached(.room, within: .milliseconds(1)))
      // It is others that leave no room: what waits out a back-off need not leave at once.
      #expect(second.roomWait(atMost: .seconds(2)) == .seconds(2))
      // One too many was there: one less is not enough.
      loop.schedule(after: .milliseconds(2)) { batches[0].settle(0, .accepted) }
      #expect(await !second.reached(.room, within: .milliseconds(20)))
      loop.schedule(after: .milliseconds(2)) { batches[1].settle(0, .accepted) }
      #expect(await second.reached(.room, within: .seconds(60)))
      second.watch(batches[4])
      #expect(await !first.reached(.roomOrStalled, within: .milliseconds(1)))
      for batch in batches.dropFirst(2) { batch.settle(0, .expired) }
      #expect(memory.bytes == 0)
      #expect(await first.reached(.roomOrStalled))
    }
  }

  /// As when another worker has the segment: its batches go, and none of them was settled.
  @Test func whatIsGivenUpIsKeptNoLonger() {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let memory = BatchMemory(maximum: 1)
    var given: PushBatch? = batch()
    var run: SegmentRun? = segmentRun(loop, memory)
    if let given { run?.watch(given) }
    #expect(memory.isFull)
    given = nil
    run = nil
    #expect(memory.bytes == 0)
  }

  @Test func letsGoWhoeverWaitsOrWillWaitOnceTheLaneStops() async {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    await LoopActor(loop).run { _ in
      let run = segmentRun(loop, unbounded)
      run.watch(batch())
      run.lead(to: .sending)
      loop.schedule(after: .milliseconds(2)) { run.take(.laneStopped) }
      #expect(await !run.reached(.allSettled))
      #expect(await !run.reached(.allSettled))
    }
  }
}

private func segmentRun(_ loop: EventLoop, _ memory: BatchMemory) -> SegmentRun {
  let event = Event(
    id: "e1", app: "a.b", streamer: "s1", stream: "b1", template: "go-live", occurredAt: 0,
    expiresAt: 0, fields: [:], document: [])
  let segment = Segment(event: event, slice: .plain(key: "k"), count: 1)
  return SegmentRun(
    claim: Claim(segment: segment, owner: "w"), slot: LaneSlot {}, loop: loop, memory: memory)
}

var unbounded: BatchMemory { BatchMemory(maximum: .max) }

private func batch() -> PushBatch {
  let headers = PushHeaders(
    pushType: .alert, priority: 10, topic: "a.b", collapseID: nil, expiration: 0, expiresAt: .max)
  let batch = PushBatch(event: "e", headers: headers, tally: SegmentTally())
  let page = RecipientPage(fieldNames: [])
  let user = page.bytes.append(utf8: "u1")
  let member = page.bytes.append(utf8: "apns:x:a.b:00ff")
  batch.append(
    recipient: .init(user: user, firstBinding: 0, bindingCount: 1),
    binding: .init(member: member, token: member.last(4), destination: .production), of: page,
    payload: batch.bytes.append(utf8: "{}"))
  batch.seal()
  return batch
}
