import APNsSimulator
import Deliver
import Feedback
import Legacy
import Pipeline
import Record
import TestBed
import Testing
import Transport

/// The whole way over the legacy binary interface.
@Suite(.serialized) struct LegacyInterfaceTests {
  /// - Parameter acceptedAfter: longer than an error response, or the end of a connection,
  ///   is on its way on a busy machine.
  @discardableResult
  private func worker(
    _ bed: WorkerBed, acceptedAfter: Duration = .seconds(3)
  ) async throws -> Worker {
    let port = try #require(bed.address.binaryPort)
    let security = try ClientSecurity(caFile: bed.address.authorityFile, alpn: [])
    let endpoint = Endpoint(host: bed.address.host, port: port)
    return try await bed.startWorker {
      $0.deliver.routes = [
        .production: RouteTarget(
          endpoint: endpoint, tls: security,
          interface: BinaryInterface(acceptedAfter: acceptedAfter))
      ]
    }
  }

  private func magic(_ code: String, _ number: Int) -> String {
    let digits = String(number, radix: 16)
    let head = MagicTokens.prefix + code
    return head + String(repeating: "0", count: 64 - head.count - digits.count) + digits
  }

  @Test func losesNothingAndDoublesNothingWithOneTokenInAHundredInvalid() async throws {
    let bed = try await WorkerBed(isLegacy: true)
    let living = (0..<2970).map { paddedHex($0 + 1) }
    var tokens = living
    for number in 0..<30 { tokens.insert(magic("0400", number), at: number * 99) }
    try await bed.follow("s1", tokens: tokens)
    try await worker(bed)
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.isBalanced && status.pushes == 3000 && status.accepted == 2970)
    #expect(status.rejected == ["BadDeviceToken": 30] && status.quarantined == 30)
    let counts = await bed.simulator.counts(of: living)
    #expect(counts.count { $0.accepted == 0 } == 0)
    // What stood behind an invalid token was not looked at, and is no try.
    let summary = await bed.simulator.summary()
    #expect(summary.duplicates == 0 && summary.requests == 3000 && status.retried == 0)
  }

  @Test func losesNothingWhenConnectionsAreCutInTheMiddle() async throws {
    var script = SimulatorScript()
    // In the second round: what went in the first has been taken for accepted.
    script.dropAfter = 100
    let bed = try await WorkerBed(script: script, isLegacy: true)
    let tokens = (0..<300).map { paddedHex($0 + 1) }
    try await bed.follow("s1", tokens: tokens)
    try await worker(bed, acceptedAfter: .seconds(2))
    try await bed.emit("e1")
    _ = try await bed.until("a connection was cut") {
      bed.sink.lines.contains { $0.contains("ended with pushes in flight") } ? true : nil
    }
    await bed.simulator.replaceScript(SimulatorScript())
    let status = try await bed.finished("e1")
    #expect(status.isBalanced && status.accepted == 300)
    #expect(await bed.simulator.counts(of: tokens).count { $0.accepted == 0 } == 0)
    #expect(status.retried > 0)
  }

  /// Nobody sends again what a worker has heard the gateway out about.
  @Test func aWorkerThatStopsWaitsForTheGatewaysSilence() async throws {
    let bed = try await WorkerBed(isLegacy: true)
    let tokens = (0..<10).map { paddedHex($0 + 1) } + [magic("0400", 1)]
    try await bed.follow("s1", tokens: tokens)
    let worker = try await worker(bed, acceptedAfter: .seconds(2))
    try await bed.emit("e1")
    _ = try await bed.until("all is sent") {
      await bed.simulator.summary().requests >= tokens.count ? true : nil
    }
    #expect(await worker.stop())
    let status = try #require(try await bed.status("e1"))
    #expect(status.state == .done && status.isBalanced)
    #expect(status.accepted == 10 && status.rejected == ["BadDeviceToken": 1])
    #expect(await bed.simulator.summary().duplicates == 0)
  }

  @Test func feedbackTakesOutBindingsThatAreOlderThanItAndNoOthers() async throws {
    let bed = try await WorkerBed(isLegacy: true)
    // Gone now and bound long ago; gone now and bound in the future; gone since 2010.
    try await bed.follow("s1", tokens: [magic("0410", 1), magic("0412", 2), paddedHex(3)])
    try await bed.follow("s2", tokens: [magic("0410", 4)], boundAt: 4_000_000_000_000)
    // Nothing is refused here, so that no silence is too short.
    try await worker(bed, acceptedAfter: .milliseconds(100))
    let events = [("e1", "s1", 3), ("e2", "s2", 1)]
    for (event, streamer, _) in events { try await bed.emit(event, streamer: streamer) }
    for (event, _, pushes) in events {
      let status = try await bed.finished(event)
      // The gateway is silent about what is gone.
      #expect(status.accepted == pushes && status.pruned == 0)
    }
    let service = Endpoint(host: bed.address.host, port: try #require(bed.address.feedbackPort))
    let security = try ClientSecurity(caFile: bed.address.authorityFile, alpn: [])
    let reading = await FeedbackStream.read(
      RouteTarget(endpoint: service, tls: security), timeout: .seconds(60))
    #expect(reading.failure == nil && reading.tuples.count == 3)
    let now: Int64 = 5_000_000_000_000
    let keyspace = bed.keyspace
    func prune(sandbox: Bool = false, writes: Bool) async throws -> FeedbackCounts {
      try await bed.withRedis { redis in
        try await FeedbackPruning(redis: redis, keyspace: keyspace, isSandbox: sandbox)
          .run(reading.tuples, writes: writes, now: now)
      }
    }
    var expected = FeedbackCounts()
    (expected.told, expected.pruned, expected.kept) = (3, 1, 2)
    #expect(try await prune(writes: false) == expected)
    #expect(try bindings(bed, "s1-u0").contains(magic("0410", 1)))
    #expect(try await prune(sandbox: true, writes: true).unknown == 3)
    #expect(try await prune(writes: true) == expected)
    #expect(try bindings(bed, "s1-u0") == "")
    #expect(try bed.redis.cli("EXISTS", "ffd:{t:\(magic("0410", 1))}") == "0")
    #expect(try bindings(bed, "s1-u1").contains(magic("0412", 2)))
    #expect(try bindings(bed, "s2-u0").contains(magic("0410", 4)))
    let again = try await prune(writes: true)
    #expect(again.pruned == 0 && again.kept == 2 && again.unknown == 1)
  }

  private func bindings(_ bed: WorkerBed, _ user: String) throws -> String {
    try bed.redis.cli("SMEMBERS", "ffd:{u:\(user)}:bindings")
  }
}
