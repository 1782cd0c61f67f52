import Glibc
import Testing
import Threads

@testable import EventLoop

@Suite struct EventLoopTests {
  @Test func runsActorJobsOnItsOwnThread() async {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let actor = LoopActor(loop)
    let onLoop = await actor.run { _ in loop.isOnLoop }
    #expect(onLoop)
    #expect(!loop.isOnLoop)
  }

  /// What it calls without isolation runs where it goes on after a wait.
  @Test func aTaskOfTheLoopGoesOnThereAfterEachWait() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let actor = LoopActor(loop)
    let places = await actor.run { actor in
      loop.task(on: actor) {
        var places = [await Self.isOnLoop(loop)]
        await loop.wait(.milliseconds(1))
        places.append(await Self.isOnLoop(loop))
        _ = await Task.detached {}.value
        return places + [await Self.isOnLoop(loop)]
      }
    }
    #expect(await places.value == [true, true, true])
    let failing = await actor.run { actor in
      loop.task(on: actor) { () async throws -> Bool in
        await loop.wait(.milliseconds(1))
        return await Self.isOnLoop(loop)
      }
    }
    #expect(try await failing.value)
  }

  @concurrent private static func isOnLoop(_ loop: EventLoop) async -> Bool { loop.isOnLoop }

  /// The thread that hands a job over may not touch the loop any more: the task runs on, and ends
  /// the loop, while that thread has not returned.
  @Test func aLoopMayGoAsSoonAsItsLastJobHasRun() async {
    for number in 0..<2000 {
      let result = await EventLoop.temporary("test") { _, loop in loop.isOnLoop ? number : -1 }
      #expect(result == number)
    }
  }

  @Test func executesWorkFromOtherThreadsInOrder() async {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let seen = ThreadLock<[Int]>([])
    await withCheckedContinuation { continuation in
      for number in 0..<1000 { loop.execute { seen.withLock { $0.append(number) } } }
      loop.execute { continuation.resume() }
    }
    #expect(seen.withLock { $0 } == Array(0..<1000))
  }

  @Test func firesTimersByDeadlineAndNotCancelledOnes() async {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let order = await LoopActor(loop).run { _ in
      let box = Box<[String]>([])
      loop.schedule(after: .milliseconds(30)) { box.value.append("late") }
      loop.schedule(after: .milliseconds(5)) { box.value.append("early") }
      loop.schedule(after: .milliseconds(10)) { box.value.append("cancelled") }.cancel()
      await loop.wait(.milliseconds(40))
      return box.value
    }
    #expect(order == ["early", "late"])
  }

  @Test func runsTurnEndHooksOnceAfterTheWorkOfTheTurn() async {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let order = ThreadLock<[String]>([])
    await LoopActor(loop).run { _ in
      loop.atTurnEnd { order.withLock { $0.append("end") } }
      loop.execute { order.withLock { $0.append("work") } }
      order.withLock { $0.append("job") }
      await loop.wait(.milliseconds(2))
    }
    #expect(order.withLock { $0 } == ["job", "work", "end"])
  }

  /// Whoever waits for no time at all may rely on the end of the turn having come before.
  @Test func aTimerIsNeverOfTheTurnThatScheduledIt() async {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let order = ThreadLock<[String]>([])
    await LoopActor(loop).run { _ in
      loop.atTurnEnd { order.withLock { $0.append("end") } }
      await loop.wait(.zero)
      order.withLock { $0.append("timer") }
    }
    #expect(order.withLock { $0 } == ["end", "timer"])
  }

  @Test func tellsWhenADescriptorIsReadyAndStopsAfterRemoval() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let (reader, writer) = (ends[0], ends[1])
    defer {
      close(reader)
      close(writer)
    }
    let counts = try await LoopActor(loop).run { _ in
      let handler = Counter()
      let registration = try loop.add(reader, [.read], handler)
      await loop.wait(.milliseconds(2))
      let before = handler.calls
      _ = write(writer, "x", 1)
      await loop.wait(.milliseconds(2))
      let after = handler.calls
      loop.remove(registration)
      _ = write(writer, "y", 1)
      let removed = handler.calls
      await loop.wait(.milliseconds(2))
      return [before, after > 0 ? 1 : 0, handler.calls - removed]
    }
    #expect(counts == [0, 1, 0])
  }

  @Test func refusesADescriptorThatEpollRefuses() async {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    await #expect(throws: LoopError.self) {
      try await LoopActor(loop).run { _ in _ = try loop.add(-1, [.read], Counter()) }
    }
  }

  @Test func callsTheBodyWhenAForeignThreadWritesAndNotAfterClose() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let calls = try await LoopActor(loop).run { _ in
      let calls = Box(0)
      let waker = try LoopWaker(loop: loop) { calls.value += 1 }
      let descriptor = waker.descriptor
      let writer = SystemThread {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
      }
      writer?.detach()
      for _ in 0..<10_000 where calls.value == 0 { await loop.wait(.milliseconds(1)) }
      let written = calls.value
      waker.wake()
      for _ in 0..<10_000 where calls.value == written { await loop.wait(.milliseconds(1)) }
      let woken = calls.value - written
      waker.close()
      waker.wake()
      await loop.wait(.milliseconds(2))
      return [written, woken, calls.value]
    }
    #expect(calls == [1, 1, 2])
  }

  @Test func forgetsCancelledTimersThatAreFarAway() {
    var heap = TimerHeap()
    var live: [LoopTimer] = []
    for number in 0..<50_000 {
      let timer = LoopTimer(deadline: UInt64(1_000_000 - number)) {}
      heap.insert(timer)
      if number % 50 == 0 { live.append(timer) } else { timer.cancel() }
    }
    #expect(heap.count < 4096)
    let due = heap.due(before: 1_000_001)
    #expect(due.count == live.count)
  }

  @Test func endsItsThread() {
    let loop = EventLoop(name: "test")
    loop.stop()
    loop.join()
    #expect(!loop.isOnLoop)
  }

  @Test(arguments: [
    (Duration.milliseconds(3), UInt64(3_000_000)), (.seconds(-1), 0), (.nanoseconds(7), 7),
  ])
  func convertsDurations(duration: Duration, nanoseconds: UInt64) {
    #expect(duration.nanoseconds == nanoseconds)
  }
}

/// Confined to the loop in these tests.
private final class Box<Value> {
  var value: Value
  init(_ value: Value) { self.value = value }
}

private final class Counter: LoopHandler {
  var calls = 0
  func descriptorReady(_ readiness: Interest) { calls += 1 }
}
