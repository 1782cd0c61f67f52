import APNsSimulator
import Model
import Pipeline
import Record
import Telemetry
import Testing
import World

/// An event of which nothing is taken comes first, and an event with which nothing is wrong behind
/// it, on one lane.
@Suite struct FailingNeighbourTests {
  private static let bad = "bad0"
  private static let serverError = SimulatedAnswer.refuse(
    Refusal(status: 500, reason: "InternalServerError"))
  private static let refusedStream = SimulatedAnswer.reset(7)

  private static func token(_ shard: Int, _ index: Int) -> String {
    bad + paddedHex(shard << 16 | index).suffix(60)
  }

  /// A simulator that answers the bad devices like this, for ever.
  private static func live(
    _ answer: SimulatedAnswer, _ body: (WorldHarness) throws -> Void
  ) throws {
    var script = SimulatorScript()
    script.rules = [.init(prefix: bad, steps: [.init(answer)])]
    try WorldHarness.live(script: script, body)
  }

  private static func startWorker(
    _ harness: WorldHarness, _ change: (inout PipelineOptions) -> Void = { _ in }
  ) throws -> WorldWorker {
    let worker = try harness.startWorker {
      $0.lanes = 1
      $0.straggleAfter = .milliseconds(500)
      $0.straggleDelay = .milliseconds(500)
      $0.deliver.retry = .init()
      change(&$0)
    }
    try harness.ready()
    return worker
  }

  private static func failures(_ harness: WorldHarness) -> Int {
    let summary = harness.summary
    return summary.rejected + summary.resets
  }

  /// Waits until next to nothing is sent, since nothing is taken.
  private static func serverIsOnlyAsked(_ harness: WorldHarness) throws {
    var last = (failures: 0, at: harness.now)
    _ = try harness.until("the server is only asked now and then") { () -> Bool? in
      let (failures, now) = (Self.failures(harness), harness.now)
      let (before, since) = last
      guard now - since >= 700 else { return nil }
      last = (failures, now)
      return before > 100 && failures > before && failures - before < 15 ? true : nil
    }
  }

  @Test func aSmallEventBehindManyIsSentSoon() throws {
    try Self.live(Self.serverError) { harness in
      let events = 60
      for number in 0..<events {
        harness.follow("bad\(number)", tokens: (0..<6).map { Self.token(number, $0) })
      }
      harness.follow("good", tokens: (0..<6).map { paddedHex($0) })
      let worker = try Self.startWorker(harness) { $0.limits.events = 2 * events }
      for number in 0..<events {
        harness.emit("bad\(number)", streamer: "bad\(number)", expiresIn: 120)
      }
      try Self.serverIsOnlyAsked(harness)
      let before = Self.failures(harness)
      harness.emit("good", streamer: "good", expiresIn: 120)
      let good = try harness.finished("good")
      #expect(good.accepted == 6 && good.isBalanced)
      // Not each of them had a turn before it.
      let turns = Self.failures(harness) - before
      // Six each would be 360; the clock of a busy machine grants some besides.
      #expect(turns < 2 * events, "\(turns) turns")
      #expect(harness.stop(worker))
    }
  }

  /// Others are taken all the time, so that no rate of the server's bounds what fails.
  @Test(arguments: [serverError, refusedStream])
  func itIsNotTriedMoreThanTheServerWouldBe(answer: SimulatedAnswer) throws {
    try Self.live(answer) { harness in
      harness.followInShards("bad", shards: 4, perShard: 500) { Self.token($0, $1) }
      harness.follow("good", tokens: (0..<200).map { paddedHex($0) })
      let worker = try Self.startWorker(harness)
      harness.emit("bad", streamer: "bad", expiresIn: 120)
      _ = try harness.until("nothing of it is taken") {
        Self.failures(harness) > 200 ? true : nil
      }
      // Each of its devices has its first try, and a few more until it is known.
      let begun = harness.now
      var (tries, before, since, number) = (Int.max, 0, begun, 0)
      while tries > 100, harness.now < begun + 40_000 {
        number += 1
        harness.emit("good\(number)", streamer: "good", expiresIn: 120)
        #expect(try harness.finished("good\(number)").accepted == 200)
        harness.pass(.milliseconds(100))
        guard harness.now >= since + 2_000 else { continue }
        let failures = Self.failures(harness)
        (tries, before, since) = (failures - before, failures, harness.now)
      }
      #expect(tries <= 100, "\(tries) tries in some two seconds")
      #expect(harness.status("bad")?.state == .running)
      #expect(harness.stop(worker))
    }
  }
}
