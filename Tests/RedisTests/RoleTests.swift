import Fixtures
import ServerProcesses
import Testing
import Threads

@testable import Redis

/// Only a master is served from, whatever stands behind its address.
@Suite struct RoleTests {
  /// Its master is a port where nobody listens: it keeps what it has, and grows stale.
  private func makeReplica(_ server: RedisServerProcess) throws {
    try server.cli("REPLICAOF", "127.0.0.1", "\(DeadPort.number)")
  }

  @Test func aReplicaBehindTheAddressIsLeftForTheNewMaster() async throws {
    let old = try RedisServerProcess()
    let new = try RedisServerProcess()
    try old.cli("SET", "mark", "stale")
    try new.cli("SET", "mark", "fresh")
    try await withProxy(to: old.port) { port, proxy async throws in
      try await withLane(options(port)) { lane async throws in
        #expect(try await lane.call("GET", "mark") == "stale")
        // A failover: the old master is a replica under a live connection.
        try makeReplica(old)
        let error = await lane.error("GET", "mark")
        #expect(error?.code == .connectionLost && error?.isOutcomeUnknown == true)
        #expect(error?.cause?.contains("is a replica") == true)
        // The address still leads to the old one: nothing is read there.
        let refusal = await lane.errorWhile(
          .loading, "GET", "mark", timeout: .milliseconds(200))
        #expect(refusal?.code == .loading)
        async let waiting = lane.call("GET", "mark")
        await proxy.turn(to: new.port)
        #expect(try await waiting == "fresh")
        #expect(try await lane.call("SET", "mark", "mine") == "OK")
      }
    }
    #expect(try new.cli("GET", "mark") == "mine")
  }

  @Test func aReplicaThatIsPromotedIsFoundAtTheSameAddress() async throws {
    let server = try RedisServerProcess()
    try makeReplica(server)
    try await withLane(options(server.port)) { lane async throws in
      let error = await lane.errorWhile(.loading, "GET", "k", timeout: .milliseconds(200))
      #expect(error?.code == .loading && error?.cause?.contains("is a replica") == true)
      async let waiting = lane.call("SET", "k", "v")
      try server.cli("REPLICAOF", "NO", "ONE")
      #expect(try await waiting == "OK")
    }
  }

  /// What ROLE answers behind a pipeline is not the pipeline's: its replies were small.
  @Test func aRoleThatTakesTooMuchIsTheConnectionsFault() async throws {
    let server = try RedisServerProcess()
    let role = Array("*3\r\n$6\r\nmaster\r\n".utf8)
    let seen = ThreadLock(0)
    let proxy = try await TestProxy(
      to: server.port,
      rewriter: { bytes in
        guard let range = bytes.firstRange(of: role) else { return bytes }
        // The handshake's is the first.
        guard
          seen.withLock({
            $0 += 1
            return $0 == 2
          })
        else { return bytes }
        return bytes[..<range.lowerBound] + Array("*3\r\n$6\r\nmaster\r\n*1000000\r\n".utf8)
      })
    try await withLane(options(proxy.port)) { lane async throws in
      let error = await lane.error("SET", "k", "v")
      #expect(error?.isTransient == true && error?.code == .protocolError)
      #expect(error?.cause?.contains("ROLE") == true)
      #expect(try await lane.call("GET", "k") == "v")
    }
    await proxy.close()
  }

  @Test func aConnectionThatIsNotTrustedIsLeft() async throws {
    let server = try RedisServerProcess()
    try await withLane(options(server.port)) { lane async throws in
      #expect(try await lane.call("SET", "k", "v") == "OK")
      // In one turn: it connects again at once.
      try await lane.run {
        $0.client.distrust(over: "odd")
        #expect($0.client.lastFailure?.code == .connectionLost)
      }
      #expect(try await lane.call("GET", "k") == "v")
    }
  }

  /// Nobody asks anything, so it must be the client that finds out.
  @Test func anIdleConnectionToAReplicaIsLeft() async throws {
    let old = try RedisServerProcess()
    let new = try RedisServerProcess()
    try await withProxy(to: old.port) { port, proxy async throws in
      var options = options(port)
      options.checkInterval = .milliseconds(20)
      try await withLane(options) { lane async throws in
        #expect(try await lane.call("PING") == "PONG")
        await proxy.turn(to: new.port)
        try makeReplica(old)
        #expect(await lane.until { $0.log.last?.hasSuffix("connected again") == true })
        #expect(await lane.log.contains { $0.contains("is a replica") })
      }
    }
    #expect(try new.cli("INFO", "commandstats").contains("cmdstat_role"))
  }

  @Test func withoutRoleReadonlyLeadsToAnotherConnection() async throws {
    let old = try RedisServerProcess()
    let new = try RedisServerProcess()
    for server in [old, new] {
      try server.cli("ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "-role", "-info")
    }
    try await withProxy(to: old.port) { port, proxy async throws in
      var options = options(port)
      options.username = "app"
      options.password = "secret"
      try await withLane(options) { lane async throws in
        #expect(try await lane.call("SET", "k", "1") == "OK")
        #expect(await lane.log.count { $0.contains("does not tell us its ROLE") } == 1)
        try makeReplica(old)
        await proxy.turn(to: new.port)
        #expect(try await lane.call("SET", "k", "2").hasPrefix("READONLY"))
        #expect(try await lane.call("SET", "k", "3") == "OK")
        #expect(await lane.log.count { $0.contains("does not tell us its ROLE") } == 1)
      }
    }
    #expect(try new.cli("GET", "k") == "3")
  }

  @Test func aScriptThatIsRefusedAsReadonlyDoesToo() async throws {
    let server = try RedisServerProcess()
    try server.cli("ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "-role")
    var options = options(server.port)
    options.username = "app"
    options.password = "secret"
    try await withLane(options) { lane async throws in
      let script = RedisScript("return redis.call('INCR', KEYS[1])")
      #expect(try await lane.evaluate(script, keys: ["k"]) == "1")
      try makeReplica(server)
      #expect(try await lane.evaluate(script, keys: ["k"]).contains("READONLY"))
      #expect(await lane.until { $0.log.contains { $0.contains("takes no writes (READONLY)") } })
    }
  }

  @Test func aSilentDropOfAnIdleConnectionIsFoundSoon() async throws {
    let server = try RedisServerProcess()
    try await withProxy(to: server.port) { port, proxy async throws in
      var options = options(port)
      options.checkInterval = .milliseconds(20)
      options.commandTimeout = .milliseconds(500)
      try await withLane(options) { lane async throws in
        #expect(try await lane.call("PING", timeout: .seconds(60)) == "PONG")
        await proxy.setSilent()
        #expect(await lane.until { $0.lastFailure != nil })
        await proxy.mend()
        #expect(try await lane.call("PING", timeout: .seconds(60)) == "PONG")
        #expect(await proxy.accepted() >= 2)
      }
    }
  }

  @Test func anotherProcessBehindALiveConnectionIsNoticed() async throws {
    func information(_ run: String) -> String {
      let text = "# Server\r\nrun_id:\(run)\r\n"
      return "$\(text.utf8.count)\r\n\(text)\r\n"
    }
    let script: [FakeServer.Answer] = [
      ready, .init(information("a")), .init(information("a")), .init(information("b")),
    ]
    try await withFake([script, [ready, "+yes\r\n"]]) { options, _, _ async throws in
      var options = options
      options.checkInterval = .milliseconds(5)
      try await withLane(options) { lane async throws in
        #expect(await lane.until { $0.log.contains { $0.contains("its run_id changed") } })
        #expect(await lane.until { $0.isConnected })
      }
    }
  }
}

private func withProxy(
  to port: Int, _ body: @Sendable (Int, TestProxy) async throws -> Void
) async throws {
  let proxy = try await TestProxy(to: port)
  let result = await Result { try await body(proxy.port, proxy) }
  await proxy.close()
  try result.get()
}
