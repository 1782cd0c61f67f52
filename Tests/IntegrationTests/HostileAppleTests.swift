import APNsSimulator
import Deliver
import TestBed
import Testing

/// Servers and networks that misbehave in every way, under a whole worker: nothing is lost, and the
/// process goes on. Each is asked for by a script, and mended by the next.
@Suite(.serialized) struct HostileAppleTests {
  private static let followers = 200

  /// A worker sends an event to a simulator with `script`, until so many connections were made, the
  /// worker's first four among them. Nil: to its end.
  private func survive(
    _ script: SimulatorScript, connections: Int?,
    configure: @escaping (inout DeliverOptions) -> Void = { _ in }
  ) async throws -> (bed: WorkerBed, lost: Int) {
    let bed = try await WorkerBed(script: script)
    let tokens = (0..<Self.followers).map { paddedHex($0) }
    try await bed.follow("s1", tokens: tokens)
    let worker = try await bed.startWorker {
      $0.deliver.streamsPerConnection = 50
      $0.deliver.requestTimeout = .milliseconds(500)
      $0.deliver.pingTimeout = .milliseconds(300)
      configure(&$0.deliver)
    }
    try await bed.emit("e1")
    if let connections {
      _ = try await bed.until("enough connections were made") {
        await bed.simulator.summary().connections >= connections ? true : nil
      }
      await bed.simulator.replaceScript(SimulatorScript())
    }
    let status = try await bed.finished("e1")
    #expect(status.accepted == Self.followers && status.isBalanced)
    let lost = await bed.simulator.counts(of: tokens).count { $0.accepted == 0 }
    #expect(await worker.stop())
    return (bed, lost)
  }

  /// Each connection comes to its end, and the next begins like the first.
  @Test(arguments: Attack.allCases)
  func anAttackEndsItsConnectionAndNothingElse(attack: Attack) async throws {
    var script = SimulatorScript()
    script.attack = attack
    script.attackAfter = 5
    let (_, lost) = try await survive(script, connections: 8)
    #expect(lost == 0)
  }

  @Test func whatAHalfClosedServerHasReadIsSentAgain() async throws {
    var script = SimulatorScript()
    script.halfCloseAfter = 20
    let (_, lost) = try await survive(script, connections: 8)
    #expect(lost == 0)
  }

  /// Heads arrive, bodies do not.
  @Test func aWindowOfNothingHoldsUpAndLosesNothing() async throws {
    var script = SimulatorScript()
    script.window = 0
    let (_, lost) = try await survive(script, connections: 8)
    #expect(lost == 0)
  }

  @Test(arguments: ["bodies", "answers", "both"])
  func singleBytesAreEnough(of what: String) async throws {
    var script = SimulatorScript()
    if what != "answers" { script.window = 1 }
    if what != "bodies" { script.sliceBytes = 1 }
    let (bed, lost) = try await survive(script, connections: nil) {
      $0.requestTimeout = .seconds(60)
      $0.pingTimeout = .seconds(60)
    }
    #expect(lost == 0)
    #expect(await bed.simulator.summary().duplicates == 0)
  }

  /// What is granted is used, and what is taken away is not.
  @Test func theLimitOfStreamsIsFollowedUpAndDown() async throws {
    var script = SimulatorScript()
    script.latency = .milliseconds(100)
    script.streams = 1
    let bed = try await WorkerBed(script: script)
    let tokens = (0..<6_000).map { paddedHex($0) }
    try await bed.follow("s1", tokens: tokens)
    let worker = try await bed.startWorker()
    try await bed.emit("e1")
    func accepted(_ count: Int) async throws {
      _ = try await bed.until("\(count) are accepted") {
        await bed.simulator.summary().accepted >= min(count, tokens.count) ? true : nil
      }
    }
    try await accepted(8)
    script.streams = 100
    await bed.simulator.replaceScript(script)
    try await accepted(500)
    script.streams = 0
    await bed.simulator.replaceScript(script)
    let held = try await bed.until("nothing is in flight") { () -> Int? in
      let summary = await bed.simulator.summary()
      return summary.accepted == summary.requests ? summary.requests : nil
    }
    script.streams = 1
    await bed.simulator.replaceScript(script)
    try await accepted(held + 8)
    script.streams = 1_000
    await bed.simulator.replaceScript(script)
    let status = try await bed.finished("e1")
    #expect(status.accepted == tokens.count && status.isBalanced)
    #expect(held < tokens.count)
    #expect(await bed.simulator.counts(of: tokens).allSatisfy { $0.accepted == 1 })
    #expect(await worker.stop())
  }
}
