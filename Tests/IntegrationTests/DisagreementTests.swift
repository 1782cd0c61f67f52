import Devices
import Pipeline
import Record
import ServerProcesses
import Telemetry
import TestBed
import Testing

/// Redis that forbids something, and clocks that differ: an operator's to mend, not the record's
/// fault. The worker waits, says what for, and goes on.
@Suite(.serialized) struct DisagreementTests {

  /// A newer version may need more: what was not granted is said at once, before an event needs it.
  @Test func allMissingPermissionsAreNamedWhenTheWorkerStarts() async throws {
    let bed = try await WorkerBed(redis: RedisServerProcess())
    _ = try bed.redis.cli(
      "ACL", "SETUSER", "fanfare", "on", ">secret", "~*", "+@all", "-hsetnx", "-zadd", "-smismember"
    )
    let worker = try await bed.startWorker {
      $0.redis.username = "fanfare"
      $0.redis.password = "secret"
    }
    let lines = try await bed.until("the worker names them") {
      let lines = bed.sink.lines.filter { $0.contains("our Redis user may not use commands") }
      return lines.isEmpty ? nil : lines
    }
    #expect(lines.count == 1)
    for command in ["HSETNX", "ZADD", "SMISMEMBER"] { #expect(lines[0].contains(command)) }
    #expect(await worker.stop())
  }

}
