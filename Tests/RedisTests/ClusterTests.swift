import Fixtures
import Processes
import ServerProcesses
import TLS
import Testing

@testable import Redis

/// Options for a cluster of a test.
func clusterOptions(_ cluster: RedisClusterProcess, seeds: ArraySlice<Int>? = nil) -> RedisOptions {
  var options = options(1)
  options.clusterNodes =
    seeds?.map { .init(host: "127.0.0.1", port: $0) } ?? cluster.endpoints
  options.reconnectMaximum = .milliseconds(200)
  return options
}

extension Lane {
  /// The replies to a pipeline, as redis-cli would show them.
  func all(_ commands: [[String]]) async throws -> [String] {
    let pipeline = RedisPipeline()
    for command in commands { pipeline.append(command) }
    let replies = try await client.execute(pipeline)
    return (0..<replies.count).map { shown(replies[$0]) }
  }

  func failure(_ commands: [[String]], timeout: Duration) async -> RedisError? {
    let pipeline = RedisPipeline()
    for command in commands { pipeline.append(command) }
    do throws(RedisError) {
      _ = try await client.execute(pipeline, timeout: timeout)
      return nil
    } catch {
      return error
    }
  }
}

/// A real cluster: three masters with a replica each.
@Suite struct ClusterTests {
  @Test func aPipelineIsAnsweredInItsOrderWhoeverHasTheKeys() async throws {
    let cluster = try RedisClusterProcess(hasReplicas: false)
    // One node that knows the others is enough.
    try await withLane(clusterOptions(cluster, seeds: [cluster.masters[2].port])) {
      lane async throws in
      let keys = (0..<500).map { "k\($0)" }
      let set = try await lane.all(keys.map { ["SET", $0, "value of \($0)"] })
      #expect(set.allSatisfy { $0 == "OK" })
      let got = try await lane.all(keys.flatMap { [["GET", $0], ["STRLEN", $0]] })
      #expect(got == keys.flatMap { ["value of \($0)", "\($0.utf8.count + 9)"] })
      #expect(await lane.isConnected)
      #expect(await lane.lastFailure == nil)
      let script = RedisScript("return {KEYS[1], redis.call('GET', KEYS[1])}")
      for key in keys.prefix(20) {
        #expect(try await lane.evaluate(script, keys: [key]) == "[\(key) value of \(key)]")
      }
      #expect(try await lane.call("PING") == "PONG")
      let crossing = try await lane.call("MGET", "k1", "k2")
      #expect(crossing.hasPrefix("CROSSSLOT"))
    }
    let counts = try cluster.masters.map { Int(try $0.cli("DBSIZE")) ?? 0 }
    #expect(counts.allSatisfy { $0 > 100 } && counts.reduce(0, +) == 500)
    // One node was asked for the script's digest; each of the others gets its source once.
    let evaluations = try cluster.masters.count {
      try $0.cli("INFO", "commandstats").contains("cmdstat_eval:calls=1,")
    }
    #expect(evaluations == 2)
  }

  /// Masters that do not have the script get its source, and the others are not asked twice.
  @Test func eachCallOfAScriptRunsOnce() async throws {
    let cluster = try RedisClusterProcess(hasReplicas: false)
    try await withLane(clusterOptions(cluster)) { lane async throws in
      let answers = try await lane.run { lane in
        let replies = try await lane.client.evaluate(
          RedisScript("return {redis.call('INCR', KEYS[1]), ARGV[1]}"),
          (0..<100).map { ScriptCall(keys: ["k\($0)"], positional: ["\($0)"]) })
        return (0..<replies.count).map { lane.shown(replies[$0]) }
      }
      #expect(answers == (0..<100).map { "[1 \($0)]" })
    }
  }

  @Test func scriptsOfManyKeysAndEachMaster() async throws {
    let cluster = try RedisClusterProcess(hasReplicas: false)
    try await withLane(clusterOptions(cluster)) { lane async throws in
      let script = RedisScript("return redis.call('INCR', KEYS[1])")
      try await lane.run { lane in
        await lane.client.prepare([script])
        let pipeline = RedisPipeline()
        let replies = try await lane.client.evaluate(
          script, key: (Array("{u:".utf8), Array("}".utf8)), arguments: [], pipeline: pipeline
        ) { call in
          for index in 0..<100 {
            Array("\(index)".utf8).withUnsafeBytes { pipeline.append(call, $0) }
          }
        }
        #expect((0..<100).allSatisfy { replies[$0].integer == 1 })
        // SCAN at each of them, to its end.
        var found: Set<String> = []
        for (master, first) in try await lane.client.executeOnMasters(
          RedisPipeline(["SCAN", "0", "COUNT", "10"]))
        {
          var reply = first
          while true {
            for index in 0..<reply[0][1].count { found.insert(reply[0][1][index].text ?? "") }
            guard let cursor = reply[0][0].text, cursor != "0" else { break }
            reply = try await lane.client.execute(
              RedisPipeline(["SCAN", cursor, "COUNT", "10"]), at: master)
          }
        }
        #expect(found == Set((0..<100).map { "{u:\($0)}" }))
        let state = try #require(lane.client.clusterState)
        #expect(state.masters.count == 3 && state.unserved == nil)
        #expect(state.masters.reduce(0) { $0 + $1.slots } == 16_384)
      }
    }
    // Every node was told the script before it was needed.
    for master in cluster.masters {
      #expect(try !master.cli("INFO", "commandstats").contains("cmdstat_eval:"))
    }
  }

  /// The nodes name each other by the ports that speak TLS.
  @Test func aClusterSpeaksTLS() async throws {
    let directory = try ScratchDirectory()
    let files = try ThrowAwayAuthority(hosts: ["127.0.0.1"]).write(to: directory.path)
    let cluster = try RedisClusterProcess(
      hasReplicas: false,
      tls: .init(authority: files.authority, certificate: files.certificate, key: files.key))
    var options = clusterOptions(cluster, seeds: [cluster.masters[1].port])
    options.tls = try TLSClientContext(caFile: files.authority, alpn: [])
    try await withLane(options) { lane async throws in
      let keys = (0..<100).map { "k\($0)" }
      #expect(try await lane.all(keys.map { ["SET", $0, $0] }).allSatisfy { $0 == "OK" })
      #expect(try await lane.all(keys.map { ["GET", $0] }) == keys)
    }
    let counts = try cluster.masters.map { Int(try $0.cli("DBSIZE")) ?? 0 }
    #expect(counts.allSatisfy { $0 > 0 } && counts.reduce(0, +) == 100)
  }

  @Test func aSlotThatMovesIsFollowed() async throws {
    let cluster = try RedisClusterProcess(hasReplicas: false)
    let slot = RedisSlot("{m}").number
    let old = try #require(try cluster.master(of: slot))
    let new = try #require(cluster.masters.first { $0 !== old })
    try await withLane(clusterOptions(cluster)) { lane async throws in
      let keys = (0..<10).map { "{m}\($0)" }
      _ = try await lane.all(keys.map { ["SET", $0, "1"] })
      let before = try await lane.run { $0.client.clusterState?.masters.map(\.slots) }
      try cluster.beginMove(slot, from: old, to: new)
      try cluster.move(keys: Array(keys.prefix(5)), from: old, to: new)
      // Half of them are there (ASK), half of them here.
      let twos = try await lane.all(keys.map { ["INCR", $0] })
      #expect(twos == keys.map { _ in "2" })
      #expect(try old.cli("INFO", "errorstats").contains("errorstat_ASK:count=5"))
      // A key of each: neither node has both.
      #expect(try await lane.call("MGET", keys[0], keys[9]).hasPrefix("TRYAGAIN"))
      #expect(try await lane.call("MGET", keys[0], keys[1]) == "[2 2]")
      async let both = lane.call("MGET", keys[0], keys[9])
      try cluster.endMove(slot, from: old, to: new)
      let answer = try await both
      #expect(answer == "[2 2]" || answer.hasPrefix("TRYAGAIN"))
      let threes = try await lane.all(keys.map { ["INCR", $0] })
      #expect(threes == keys.map { _ in "3" })
      #expect(await lane.until { $0.client.clusterState?.masters.map(\.slots) != before })
      // No more than one command met the old node: the map is mended.
      let moved = try old.cli("INFO", "errorstats").split(separator: "\n")
        .first { $0.contains("errorstat_MOVED") }
      _ = try await lane.all(keys.map { ["INCR", $0] })
      let after = try old.cli("INFO", "errorstats").split(separator: "\n")
        .first { $0.contains("errorstat_MOVED") }
      #expect(moved == after)
    }
    #expect(try new.cli("GET", "{m}3") == "4")
  }

  @Test func aNodeThatIsNewGetsSlots() async throws {
    let cluster = try RedisClusterProcess(hasReplicas: false)
    let slot = RedisSlot("{m}").number
    let old = try #require(try cluster.master(of: slot))
    try await withLane(clusterOptions(cluster)) { lane async throws in
      let script = RedisScript("return redis.call('INCR', KEYS[1])")
      #expect(try await lane.evaluate(script, keys: ["{m}"]) == "1")
      let new = try cluster.addMaster()
      try cluster.beginMove(slot, from: old, to: new)
      // ASK to a node that no map names yet, which has never heard of the script.
      try cluster.move(keys: ["{m}"], from: old, to: new)
      #expect(try await lane.evaluate(script, keys: ["{m}"]) == "2")
      try cluster.endMove(slot, from: old, to: new)
      #expect(try await lane.evaluate(script, keys: ["{m}"]) == "3")
      #expect(await lane.until { $0.client.clusterState?.masters.count == 4 })
      #expect(try new.cli("GET", "{m}") == "3")
    }
  }

  @Test func aSlotThatNobodyServesIsSaid() async throws {
    let cluster = try RedisClusterProcess(
      hasReplicas: false, options: ["--cluster-require-full-coverage", "no"])
    let slot = RedisSlot("lost").number
    let master = try #require(try cluster.master(of: slot))
    let other = try #require((0..<100).first { RedisSlot("k\($0)").number != slot })
    try await withLane(clusterOptions(cluster)) { lane async throws in
      #expect(try await lane.call("SET", "lost", "1") == "OK")
      for node in cluster.nodes { try node.cli("CLUSTER", "DELSLOTS", "\(slot)") }
      let answer = try await lane.call("GET", "lost")
      #expect(answer.hasPrefix("CLUSTERDOWN"))
      #expect(RedisErrorReply(answer).disposition == .wait)
      #expect(await lane.until { $0.lastFailure?.message.contains("the slots \(slot)") == true })
      #expect(await !lane.isConnected)
      #expect(try await lane.call("SET", "k\(other)", "1") == "OK")
      for node in cluster.nodes { try node.cli("CLUSTER", "ADDSLOTS", "\(slot)") }
      _ = master
      #expect(await lane.until { $0.isConnected })
      #expect(await lane.log.last?.contains("all slots are served") == true)
    }
  }
}
