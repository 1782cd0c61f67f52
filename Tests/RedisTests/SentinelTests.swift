import Fixtures
import ServerProcesses
import Testing

@testable import Redis

/// Sentinels say where the master is.
@Suite struct SentinelTests {
  private func options(_ ports: [Int], password: String? = nil) -> RedisOptions {
    // What is not asked for is not connected to.
    var options = RedisTests.options(1)
    options.sentinel = RedisSentinel(
      nodes: ports.map { .init(host: "127.0.0.1", port: $0) }, master: "main", password: password)
    return options
  }

  @Test func theMasterIsFoundAndFoundAgain() async throws {
    let master = try RedisServerProcess()
    let replica = try RedisServerProcess(
      options: ["--replicaof", "127.0.0.1 \(master.port)", "--repl-diskless-sync-delay", "0"])
    let sentinel = try RedisSentinelProcess(watching: master, as: "main")
    // One that is away is passed over.
    try await withLane(options([try DeadPort.number, sentinel.port])) { lane async throws in
      #expect(try await lane.call("SET", "k", "1") == "OK")
      #expect(try master.cli("WAIT", "1", "60000") == "1")
      try sentinel.waitForReplica(of: "main")
      master.kill()
      #expect(await lane.until { !$0.isConnected })
      // Waits for the replica's promotion, which the sentinel does some seconds later.
      #expect(try await lane.call("INCR", "k", timeout: .seconds(60)) == "2")
      #expect(await lane.log.contains { $0.hasPrefix("Redis master main: connected again") })
    }
    #expect(try replica.cli("GET", "k") == "2")
  }

  @Test func whoIsNoMasterIsNotBelieved() async throws {
    let server = try RedisServerProcess()
    try server.cli("REPLICAOF", "127.0.0.1", "\(DeadPort.number)")
    let address = "*2\r\n$9\r\n127.0.0.1\r\n$\("\(server.port)".utf8.count)\r\n\(server.port)\r\n"
    try await withFake([[ready, .init(address)]]) { fake, _, _ async throws in
      try await withLane(options([fake.port])) { lane async throws in
        let error = await lane.errorWhile(.loading, "GET", "k", timeout: .milliseconds(50))
        #expect(error?.cause?.contains("is a replica") == true)
        try server.cli("REPLICAOF", "NO", "ONE")
        #expect(try await lane.call("SET", "k", "v") == "OK")
      }
    }
  }

  @Test func whatTheySayInsteadIsSaid() async throws {
    let master = try RedisServerProcess()
    let sentinel = try RedisSentinelProcess(watching: master, as: "other", password: "secret")
    try await withLane(options([sentinel.port], password: "secret")) { lane async throws in
      let error = await lane.errorWhile(.refused, "GET", "k", timeout: .milliseconds(50))
      #expect(error?.cause?.contains("watches no master main") == true)
    }
    try await withLane(options([sentinel.port])) { lane async throws in
      let error = await lane.errorWhile(.authentication, "GET", "k", timeout: .milliseconds(50))
      #expect(error?.code == .authentication)
    }
    // A Redis that is no sentinel.
    try await withLane(options([master.port])) { lane async throws in
      let error = await lane.errorWhile(.refused, "GET", "k", timeout: .milliseconds(50))
      #expect(error?.cause?.contains("does not say which server is the master") == true)
    }
  }
}
