import APNsSimulator
import Devices
import Glibc
import Processes
import Record
import TestBed
import Testing

extension WorkerBed {
  /// Waits until some segments of `e1` are settled, and others are not.
  func middle() async throws {
    _ = try await until("some segments are settled") {
      let status = try await self.status("e1")
      return status.map { $0.settled >= 2 } == true ? true : nil
    }
  }

  func expectRunning() async throws {
    #expect(try await status("e1")?.state == .running, "the fan-out was over before")
  }

  /// Waits for the end, and ends the worker.
  func expectNothingLostOrDoubled(
    of audience: SyntheticAudience, by worker: ChildProcess
  ) async throws {
    let status = try await finished("e1")
    try await expectNothingLost(of: audience, status)
    #expect(await simulator.summary().duplicates == 0)
    #expect(worker.stop(SIGTERM) == 0)
  }

  /// Everybody was reached, and the statistics say what the fan-out does.
  func expectNothingLost(of audience: SyntheticAudience, _ status: FanOutStatus) async throws {
    #expect(status.state == .done && status.isBalanced)
    #expect(status.accepted == audience.totals().devices)
    let tokens = (0..<audience.followers).flatMap { audience.addressedTokens($0) }
    let lost = await simulator.counts(of: tokens).count { $0.accepted == 0 }
    #expect(lost == 0)
    let key = keyspace.statsTotal
    _ = try await until("the statistics say the same") {
      let fields = ["accepted", "pushes", "recipients", "retried", "segments", "events"]
      let total = try await self.withRedis { try await $0.table(key) }
      let wanted = [
        status.accepted, status.pushes, status.recipients, status.retried, status.settled, 1,
      ]
      return fields.map { total[$0].flatMap { Int($0) } ?? 0 } == wanted ? true : nil
    }
  }
}
