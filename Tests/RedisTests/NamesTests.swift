import Dispatch
import Fixtures
import ServerProcesses
import Testing
import Threads
import Transport

@testable import Redis

/// What the server's name leads to: slowly, to replicas, or to one that refuses us.
@Suite struct NamesTests {
  /// Of `redis.test`, which leads to these.
  private func named(_ ports: [Int]) throws -> RedisOptions {
    let addresses = try ports.flatMap {
      try Resolver.numeric(Endpoint(host: "127.0.0.1", port: $0)).get()
    }
    var options = options(1)
    options.host = "redis.test"
    options.names = NameResolver { _ in .success(addresses) }
    return options
  }

  /// It is looked up for longer than a command may take: that delays the first, and no more.
  @Test func theFirstCommandWaitsForASlowName() async throws {
    let server = try RedisServerProcess()
    let address = Resolver.numeric(Endpoint(host: "127.0.0.1", port: server.port))
    let isAnswered = DispatchSemaphore(value: 0)
    var options = options(1)
    options.host = "redis.test"
    options.commandTimeout = .milliseconds(300)
    options.names = NameResolver { _ in
      isAnswered.wait()
      return address
    }
    try await withLane(options) { lane async throws in
      async let waiting = lane.call("PING")
      #expect(await lane.until { $0.client.obstacle?.description.contains("DNS") == true })
      #expect(await lane.lastFailure == nil, "it is not known to be down")
      // Longer than the command may take.
      try await lane.run { await $0.loop.wait(.milliseconds(700)) }
      isAnswered.signal()
      #expect(try await waiting == "PONG")
      #expect(try await lane.run { $0.client.obstacle == nil })
    }
  }

  /// A nameserver that is dead does not make commands wait for ever.
  @Test func aCommandWaitsForANameOnce() async throws {
    let isOver = DispatchSemaphore(value: 0)
    var options = options(1)
    options.host = "redis.test"
    options.commandTimeout = .milliseconds(50)
    options.resolveTimeout = .milliseconds(100)
    options.names = NameResolver { _ in
      // As of a nameserver that says nothing, until the test is over.
      isOver.wait()
      isOver.signal()
      return Resolver.numeric(Endpoint(host: "127.0.0.1", port: 1))
    }
    defer { isOver.signal() }
    try await withLane(options) { lane async throws in
      let error = await lane.error("PING")
      #expect(error?.code == .unavailable)
      // What it had, and what the name had.
      #expect(error?.message.contains("no connection within 150ms") == true, "\(error as Any)")
    }
  }

  /// There is no connection yet that Redis has answered on.
  @Test func aServerThatTakesAConnectionAndIsSilentIsAnObstacle() async throws {
    try await withFake([[]]) { options, _, _ async throws in
      try await withLane(options) { lane async throws in
        #expect(try await lane.run { $0.client.obstacle != nil })
        #expect(await lane.until { $0.client.obstacle?.description.contains("answered") == true })
        #expect(await lane.lastFailure == nil)
      }
    }
  }

  @Test func theOtherAddressesOfANameAreTriedWhenTheFirstIsAReplica() async throws {
    let master = try RedisServerProcess()
    let replica = try RedisServerProcess()
    try replica.cli("REPLICAOF", "127.0.0.1", "\(DeadPort.number)")
    try await withLane(try named([replica.port, master.port])) { lane async throws in
      #expect(try await lane.call("SET", "k", "v") == "OK")
    }
    #expect(try master.cli("GET", "k") == "v")
  }

  @Test func theMasterThatAReplicaNamesIsConnectedTo() async throws {
    let master = try RedisServerProcess()
    let replica = try RedisServerProcess(options: ["--replicaof", "127.0.0.1 \(master.port)"])
    for options in [try named([replica.port]), options(replica.port)] {
      try await withLane(options) { lane async throws in
        #expect(try await lane.call("INCR", "k").isEmpty == false)
        let word = "connected to its master 127.0.0.1:\(master.port)"
        #expect(await lane.log.contains { $0.contains(word) })
      }
    }
    #expect(try master.cli("GET", "k") == "2")
  }

  @Test func replicasOfEachOtherAreGivenUp() async throws {
    let one = try RedisServerProcess()
    let other = try RedisServerProcess(options: ["--replicaof", "127.0.0.1 \(one.port)"])
    try one.cli("REPLICAOF", "127.0.0.1", "\(other.port)")
    try await withLane(options(one.port)) { lane async throws in
      let error = await lane.errorWhile(.loading, "GET", "k", timeout: .milliseconds(100))
      #expect(error?.cause?.contains("is a replica") == true)
    }
  }

  @Test func redisOwnWordsAreShownWhenItTakesNoMoreConnections() async throws {
    let server = try RedisServerProcess()
    try await withLane(options(server.port)) { first async throws in
      #expect(try await first.call("CONFIG", "SET", "maxclients", "1") == "OK")
      try await withLane(options(server.port)) { lane async throws in
        #expect(
          await lane.until {
            $0.lastFailure?.description.contains("ERR max number of clients reached") == true
          })
        #expect(await lane.lastFailure?.code == .unavailable)
      }
    }
  }

  @Test func redisOwnWordsAreShownInProtectedMode() async throws {
    let words = "-DENIED Redis is running in protected mode because\r\n"
    try await withFake([[.init(words + "{close}")]]) { options, _, _ async throws in
      try await withLane(options) { lane async throws in
        #expect(
          await lane.until {
            $0.lastFailure?.description.contains("DENIED Redis is running in protected") == true
          })
        #expect(await lane.lastFailure?.code == .refused)
      }
    }
  }

  /// A proxy may quote the password that it refuses.
  @Test func theWordsOfOthersAreNotShown() async throws {
    let words = "-ERR no secret for you\r\n"
    try await withFake([[.init(words + "{close}")]]) { options, _, _ async throws in
      try await withLane(options) { lane async throws in
        #expect(await lane.until { $0.lastFailure?.message == "Redis closed the connection" })
        #expect(await lane.log.allSatisfy { !$0.contains("secret") })
      }
    }
  }

  // MARK: credentials

  @Test func thePasswordIsReadAgainForEachConnection() async throws {
    let server = try RedisServerProcess()
    try server.cli("ACL", "SETUSER", "app", "on", ">token-1", "~*", "+@all")
    let token = ThreadLock("token-1")
    var options = options(server.port)
    options.username = "app"
    options.refresh = { options in
      options.password = token.withLock { $0 }
      return nil
    }
    try await withLane(options) { lane async throws in
      #expect(try await lane.call("ACL", "WHOAMI") == "app")
      try server.cli("ACL", "SETUSER", "app", "resetpass", ">token-2")
      token.withLock { $0 = "token-2" }
      try server.cli("CLIENT", "KILL", "USER", "app")
      #expect(await lane.until { $0.log.last?.hasSuffix("connected again") == true })
      #expect(try await lane.call("ACL", "WHOAMI") == "app")
      #expect(await lane.log.allSatisfy { !$0.contains("WRONGPASS") })
    }
  }

  @Test func whatIsWrongWithTheFilesIsLogged() async throws {
    let server = try RedisServerProcess()
    var options = options(server.port)
    options.refresh = { _ in "password_file: gone" }
    try await withLane(options) { lane async throws in
      #expect(try await lane.call("PING") == "PONG")
      #expect(await lane.log == ["Redis 127.0.0.1:\(server.port): password_file: gone"])
    }
  }

  @Test func sentinelsHaveAUserOfTheirOwn() async throws {
    let master = try RedisServerProcess()
    let sentinel = try RedisSentinelProcess(watching: master, as: "main")
    _ = try sentinel.cli(
      "ACL", "SETUSER", "asker", "on", ">first", "+auth", "+sentinel|get-master-addr-by-name")
    _ = try sentinel.cli("ACL", "SETUSER", "default", "-@all", "+auth", "+acl", "+client")
    var options = options(1)
    // The master's are not theirs.
    options.sentinel = RedisSentinel(
      nodes: [.init(host: "127.0.0.1", port: sentinel.port)], master: "main", username: "asker",
      password: "wrong")
    options.sentinel?.refresh = { options in
      options.password = "first"
      return nil
    }
    try await withLane(options) { lane async throws in
      #expect(try await lane.call("PING") == "PONG")
    }
  }

  // MARK: refusals

  @Test func whatRedisRefusesForWantOfMemoryCountsAsAFailure() async throws {
    let server = try RedisServerProcess()
    try await withLane(options(server.port)) { lane async throws in
      let seen = ThreadLock<[RedisError.Code?]>([])
      try await lane.run {
        $0.client.whenDone = { _, error in seen.withLock { $0.append(error?.code) } }
      }
      #expect(try await lane.call("CONFIG", "SET", "maxmemory", "1") == "OK")
      #expect(try await lane.call("SET", "k", "v").hasPrefix("OOM"))
      #expect(try await lane.call("EVALSHA", String(repeating: "0", count: 40), "0") != "")
      #expect(seen.withLock { $0 } == [nil, .notServed, nil])
    }
  }
}
