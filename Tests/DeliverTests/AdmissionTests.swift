import EventLoop
import Model
import Testing

@testable import Deliver

/// Backpressure: who waits, in which order, and that everybody goes on.
@Suite struct AdmissionTests {
  @Test func admitsInTheOrderOfTheCallsAndNeverMuchMoreThanAllowed() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.options.maximumConcurrentStreams = 0 }) {
        $0.readyPushes = 100
      }
      defer { bed.stop() }
      let queue = AdmissionLog(bed)
      for number in 0..<8 { await queue.admit(number, count: 60) }
      await bed.until("two are in") { queue.admitted.count == 2 }
      await loop.wait(.milliseconds(20))
      #expect(queue.admitted == [0, 1])
      #expect(bed.stage.readyCount == 120)
      await bed.until("open") { bed.stage.openConnections == 2 }
      for connection in bed.server.open {
        connection.session?.setMaximumConcurrentStreams(10)
        connection.flush()
      }
      await bed.until("all are in") { queue.admitted.count == 8 }
      #expect(queue.admitted == Array(0..<8))
      #expect(queue.most <= 100 + 60)
      await bed.until("all settled") { bed.settledBatches == 8 }
    }
  }

  @Test func keepsNobodyWaitingWhoBringsNothingForTheQueue() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.options.maximumConcurrentStreams = 0 }) {
        $0.readyPushes = 10
        $0.stalledAfter = .seconds(60)
      }
      defer { bed.stop() }
      let queue = AdmissionLog(bed)
      await queue.admit(0, count: 10)
      await queue.admit(1, count: 10)
      for number in 2..<50 { await queue.admit(number, count: 0) }
      #expect(queue.admitted == [0] + Array(2..<50))
      await bed.until("open") { bed.stage.openConnections == 2 }
      for connection in bed.server.open {
        connection.session?.setMaximumConcurrentStreams(10)
        connection.flush()
      }
      await bed.until("all are in") { queue.admitted.count == 50 }
      await bed.until("all settled") { bed.settledBatches == 2 }
    }
  }

  @Test func letsEverybodyGoWhenItStops() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.options.maximumConcurrentStreams = 0 }) {
        $0.readyPushes = 10
      }
      let queue = AdmissionLog(bed)
      for number in 0..<5 { await queue.admit(number, count: 10) }
      await loop.wait(.milliseconds(5))
      bed.stop()
      await bed.until("all came back") { queue.admitted.count == 5 }
      #expect(bed.settledBatches == 0)
    }
  }
}

/// Confined to the loop.
private final class AdmissionLog {
  private let bed: DeliverBed
  private(set) var admitted: [Int] = []
  private(set) var most = 0
  private var calls = 0

  init(_ bed: DeliverBed) { self.bed = bed }

  /// Returns when the call has begun: tasks of their own would begin in any order.
  func admit(_ number: Int, count: Int) async {
    let caller = LoopActor(bed.loop)
    let call = Confined(self)
    let earlier = calls
    Task { await caller.run { _ in await call.value.run(number, count) } }
    await bed.until("call \(number) has begun") { calls > earlier }
  }

  private func run(_ number: Int, _ count: Int) async {
    calls += 1
    await bed.stage.admit(bed.batch(hexadecimal(count)))
    admitted.append(number)
    most = max(most, bed.stage.readyCount)
  }
}

/// Carries an object of the loop into a task that runs on the same loop, and nowhere else.
private struct Confined: @unchecked Sendable {
  let value: AdmissionLog
  init(_ value: AdmissionLog) { self.value = value }
}
