import APNsSimulator
import TestBed
import Testing

/// How workers prove to Apple who they are.
@Suite(.serialized) struct CredentialTests {
  /// They never speak of it, and Apple sees the same tokens from all of them: one, or two while an
  /// interval ends.
  @Test func workersWithOneKeyShowTheSameProviderTokens() async throws {
    let bed = try await WorkerBed()
    var workers = [try await bed.startWorker()]
    for index in 2...4 {
      workers.append(try await bed.startWorker { $0.workerID = "worker-\(index)" })
    }
    try await bed.ready(workers: 4)
    // Streamers are spread over the partitions, and so over the workers.
    for number in 0..<16 {
      let streamer = "s\(number)"
      try await bed.follow(streamer, tokens: (0..<20).map { paddedHex(number * 100 + $0) })
      try await bed.emit("e\(number)", streamer: streamer)
      #expect(try await bed.finished("e\(number)").accepted == 20)
    }
    let summary = await bed.simulator.summary()
    #expect((1...2).contains(summary.providerTokens) && summary.byReason.isEmpty)
    for worker in workers { #expect(await worker.stop()) }
  }
}
