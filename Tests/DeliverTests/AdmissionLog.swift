import EventLoop
import Model

@testable import Deliver

/// Calls of `admit` that are under way together, and the order in which they come back. Confined to
/// the loop.
final class AdmissionLog {
  private let bed: DeliverBed
  private(set) var admitted: [Int] = []
  private(set) var most = 0
  private var calls = 0

  init(_ bed: DeliverBed) { self.bed = bed }

  /// Returns when the call has begun: tasks of their own would begin in any order.
  func admit(_ number: Int, count: Int) async {
    await admit(number, bed.batch(hexadecimal(count)))
  }

  func admit(_ number: Int, _ batch: PushBatch) async {
    let caller = LoopActor(bed.loop)
    let call = Confined((log: self, batch: batch))
    let earlier = calls
    Task { await caller.run { _ in await call.value.log.run(number, call.value.batch) } }
    await bed.until("call \(number) has begun") { calls > earlier }
  }

  private func run(_ number: Int, _ batch: PushBatch) async {
    calls += 1
    await bed.stage.admit(batch)
    admitted.append(number)
    most = max(most, bed.stage.readyCount)
  }
}

/// Carries an object of the loop into a task that runs on the same loop, and nowhere else.
private struct Confined<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
