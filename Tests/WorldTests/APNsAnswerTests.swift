import APNsSimulator
import Deliver
import Model
import Record
import Redis
import Telemetry
import Testing
import World

/// What APNs may answer, and what then stands in Redis and in the ledger.
@Suite struct APNsAnswerTests {

  @Test func expiresWhatIsRefusedUntilTheEventIsOver() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: ["0503", "0429", "0e07", "0200"].map(token))
      let worker = try harness.startWorker {
        // Not so often that they come to the limit of tries.
        $0.deliver.retry = RetryPolicy(initial: .seconds(1), maximum: .seconds(2))
        $0.straggleAfter = .seconds(600)
      }
      try harness.ready()
      harness.emit("e1", expiresIn: 8)
      let status = try harness.finished("e1")
      #expect(status.expired == 3 && status.accepted == 1 && status.isBalanced)
      #expect(harness.stop(worker))
    }
  }

  @Test func givesUpOnStreamsWithoutAnswer() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: ["1fff", "2fff", "0200"].map(token))
      let worker = try harness.startWorker { $0.deliver.requestTimeout = .milliseconds(300) }
      harness.emit("e1")
      let status = try harness.finished("e1")
      #expect(status.accepted == 3 && status.isBalanced)
      // On a busy machine other answers may come too late as well.
      let requests = harness.summary.requests
      #expect(requests >= 6 && status.retried == requests - 3)
      #expect(harness.stop(worker))
    }
  }

  @Test func holdsEverythingWhileCredentialsAreRefusedAndLosesNothing() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: ["140f", "0200", "0201"].map(token))
      let worker = try harness.startWorker { $0.deliver.credentialHold = .milliseconds(500) }
      harness.emit("e1")
      let status = try harness.finished("e1")
      #expect(status.accepted == status.pushes && status.pushes >= 2)
      // One push was refused and another was taken: no reason to hold anything.
      #expect(!harness.lines.contains { $0.contains("APNs refuses our credentials") })
      // Each so often that nobody is taken before four of those count that ask what it means.
      harness.follow("s2", tokens: "abcdef".map { token("440f", filler: $0) })
      harness.emit("e2", streamer: "s2")
      let held = try harness.finished("e2")
      #expect(held.accepted == 6)
      #expect(harness.lines.contains { $0.contains("APNs refuses our credentials") })
      #expect(harness.lines.contains { $0.contains("pushes can be sent again") })
      #expect(harness.stop(worker))
    }
  }

  /// A key that Apple refuses for the app is not only a line in the log.
  @Test func aRefusedKeyShowsInHeartbeatAndFanOut() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: "abcdef".map { token("040f", filler: $0) })
      let worker = try harness.startWorker {
        $0.heartbeatInterval = .milliseconds(100)
        $0.straggleAfter = .milliseconds(200)
        $0.straggleDelay = .seconds(1)
      }
      try harness.ready()
      harness.emit("e1", expiresIn: 20)
      let wanted = "production \(WorldHarness.app): InvalidProviderToken"
      _ = try harness.until("the heartbeat names the app") {
        let held = harness.redis("HGET", "ff:worker:worker-1", "held_routes")
        return held.contains(wanted) ? true : nil
      }
      _ = try harness.until("the fan-out names it too") {
        harness.status("e1").map { $0.obstacle == wanted ? true : nil } ?? nil
      }
      let status = try harness.finished("e1")
      #expect(status.expired == 6 && status.isBalanced)
      #expect(harness.stop(worker))
    }
  }

  /// Bound for production by an app server that meant the sandbox, a few devices a streamer.
  @Test func aWrongEnvironmentLosesNoBinding() throws {
    try WorldHarness.live { harness in
      func wrong(_ streamer: Int, _ device: Int) -> String {
        let number = String(streamer << 8 | device, radix: 16)
        return String(token("0400").dropLast(number.count)) + number
      }
      for streamer in 0..<40 {
        harness.follow("s\(streamer)", tokens: (0..<15).map { wrong(streamer, $0) })
      }
      let worker = try harness.startWorker()
      for streamer in 0..<40 { harness.emit("e\(streamer)", streamer: "s\(streamer)") }
      for streamer in 0..<40 {
        let status = try harness.finished("e\(streamer)")
        #expect(status.rejected == ["BadDeviceToken": 15] && status.quarantined == 0)
      }
      let bound = try harness.withRedis { client in
        let pipeline = RedisPipeline()
        for streamer in 0..<40 {
          for device in 0..<15 {
            pipeline.append(["SCARD", "ffd:{u:s\(streamer)-u\(device)}:bindings"])
          }
        }
        let replies = try await client.execute(pipeline)
        return (0..<replies.count).map { replies[$0].integer }
      }
      #expect(bound == Array(repeating: 1, count: 600))
      #expect(harness.lines.contains { $0.contains("calls tokens unusable") })
      #expect(harness.stop(worker))
    }
  }

  private func bindings(_ harness: WorldHarness, of index: Int) throws -> String {
    harness.redis("SMEMBERS", "ffd:{u:s1-u\(index)}:bindings")
  }

  private func token(_ code: String) -> String { token(code, filler: "b") }

  private func token(_ code: String, filler: Character) -> String {
    let start = MagicTokens.prefix + code
    return start + String(repeating: filler, count: 64 - start.count)
  }
}
