import ServerProcesses
import Testing

@testable import Redis

/// Scripts whose writes must last, and scripts that not every node knows.
@Suite struct ClusterScriptTests {
  private static let increment = RedisScript("return redis.call('INCR', KEYS[1])")

  /// What a replica has not said that it has is not relied on; it is done all the same.
  @Test func whatIsToLastIsWithAReplica() async throws {
    let cluster = try RedisClusterProcess(masters: 1)
    let (master, replica) = (cluster.masters[0], cluster.replicas[0])
    var options = clusterOptions(cluster)
    options.replicasToWaitFor = 1
    try await withLane(options) { lane async throws in
      let count = { @Sendable (isLasting: Bool) async throws in
        try await lane.run { lane in
          try await lane.client.evaluate(
            Self.increment, ScriptCall(keys: ["k"]), isLasting: isLasting)[0].integer
        }
      }
      #expect(try await count(true) == 1)
      #expect(try replica.cli("ROLE").contains("connected"))
      replica.freeze()
      let error = await #expect(throws: RedisError.self) { try await count(true) }
      #expect(error?.code == .notCopied && error?.message.hasPrefix("0 of 1") == true)
      #expect(error?.isTransient == true && error?.isOutcomeUnknown == true)
      #expect(try await count(false) == 3)
      replica.resume()
      try cluster.wait("the replica to have it") { try master.cli("WAIT", "1", "1000") == "1" }
      #expect(try await count(true) == 4)
      // Who may not WAIT is told so, and relies on nothing.
      try master.cli("ACL", "SETUSER", "default", "-wait")
      let forbidden = await #expect(throws: RedisError.self) { try await count(true) }
      #expect(forbidden?.code == .notPermitted)
    }
  }

  /// A node that was started again, or has taken over, has never heard of the script: what the
  /// others have done is not done again.
  @Test func onlyWhatANodeRefusesIsSentAgain() async throws {
    let cluster = try RedisClusterProcess(hasReplicas: false)
    try await withLane(clusterOptions(cluster)) { lane async throws in
      try await lane.run { await $0.client.prepare([Self.increment]) }
      try cluster.masters[1].cli("SCRIPT", "FLUSH")
      let keys = (0..<100).map { "{k\($0)}" }
      let counts = try await lane.run { lane in
        let replies = try await lane.client.evaluate(
          Self.increment, keys.map { ScriptCall(keys: [$0]) })
        return (0..<replies.count).map { replies[$0].integer }
      }
      #expect(counts == keys.map { _ in 1 })
      #expect(try await lane.all(keys.map { ["GET", $0] }) == keys.map { _ in "1" })
    }
  }
}
