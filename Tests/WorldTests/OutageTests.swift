import Devices
import Model
import Pipeline
import Record
import Telemetry
import Testing
import Transport
import World

/// Workers, Redis and servers that go away in the middle.
@Suite struct OutageTests {

  @Test func startsBeforeRedisAndAPNsAreThere() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: (0..<10).map { paddedHex($0) })
      harness.world.redis.stop()
      let worker = try harness.startWorker()
      harness.emit("e1")
      _ = try harness.until("the worker says that it waits") {
        harness.lines.contains { $0.contains("waiting to ") } ? true : nil
      }
      harness.world.redis.start()
      #expect(try harness.finished("e1").accepted == 10)
      #expect(harness.stop(worker))
    }
  }

}
