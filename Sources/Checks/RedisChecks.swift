import Assembly
import EventLoop
import Keyspace
import Redis
import Settings

/// Whether Redis answers, is the right one, and will keep what it is given.
enum RedisChecks {
  private static let area = "redis"

  static func run(
    _ settings: Settings, for process: CheckedProcess, timeout: Duration, deniesWarnings: Bool
  ) async -> CheckList {
    var list = CheckList(deniesWarnings: deniesWarnings)
    var read: RedisOptions
    do {
      read = try Assembly.redisOptions(settings)
    } catch {
      list.add(area, error)
      return list
    }
    // Workers alone read from replicas.
    if process != .worker { read.replicaLagLimit = nil }
    let made = read
    let keyspace = Assembly.keyspace(settings)
    list.append(
      await EventLoop.temporary("command") {
        (_: isolated LoopActor, loop: EventLoop) async -> CheckList in
        var options = made
        options.connectTimeout = min(options.connectTimeout, timeout)
        options.commandTimeout = min(options.commandTimeout, timeout)
        let client = RedisClient(options: options, loop: loop, log: { _ in })
        client.start()
        defer { client.close() }
        return await look(client, options, keyspace, loop, process, deniesWarnings)
      })
    return list
  }

  private static func look(
    _ client: RedisClient, _ options: RedisOptions, _ keyspace: Keyspace, _ loop: EventLoop,
    _ process: CheckedProcess, _ deniesWarnings: Bool
  ) async -> CheckList {
    var list = CheckList(deniesWarnings: deniesWarnings)
    do {
      let ping = RedisPipeline(["PING"])
      _ = try await client.execute(ping)
      if let state = client.clusterState {
        let word = await word(of: state.masters.map(\.master), client)
        slots(state, word, options, &list)
        for (master, count) in state.masters {
          let name = "\(master) (\(count) slots)"
          await node(client, options, master, name, keyspace, process, loop, &list)
        }
      } else {
        for (master, _) in try await client.executeOnMasters(ping) {
          await node(client, options, master, "\(options)", keyspace, process, loop, &list)
        }
      }
      await ReplicaChecks.run(client, options, loop, &list)
      let written = try await client.execute(RedisPermissions.write(keyspace, for: process))
      write(written[0], &list)
    } catch {
      add(error, &list)
    }
    return list
  }

  private static func add(_ error: RedisError, _ list: inout CheckList) {
    let isOurs = error.code == .authentication || error.code == .refused
    list.problem(area, isOurs ? .configuration : .dependency, error.description)
  }

  private static func word(of masters: [RedisMaster], _ client: RedisClient) async -> ClusterWord {
    var word = ClusterWord()
    for master in masters {
      do throws(RedisError) {
        word.add(try await client.execute(ClusterWord.questions, at: master), of: "\(master)")
      } catch {
        word.isSilent("\(master)")
      }
    }
    return word
  }

  private static func slots(
    _ state: RedisClusterState, _ word: ClusterWord, _ options: RedisOptions,
    _ list: inout CheckList
  ) {
    if let unserved = state.unserved {
      list.problem(
        area, .dependency, "\(options): no node serves the slots \(unserved)",
        hint: "redis-cli --cluster check says more, and --cluster fix mends it")
    }
    for (name, failing) in word.failing.sorted(by: { $0.key < $1.key }) {
      list.problem(
        area, .dependency,
        "\(options): nobody serves the slots \(failing.slots): their master \(name) is gone, says "
          + failing.by.joined(separator: ", "),
        hint: "start it again, or have a replica take over: CLUSTER FAILOVER TAKEOVER")
    }
    if !word.down.isEmpty {
      list.problem(
        area, .dependency,
        "\(options): cluster_state:fail, says " + word.down.joined(separator: ", "))
    }
    if let refusal = word.refusal {
      list.warning(
        area, .configuration, "\(options): whether its masters live is not known: \(refusal)",
        hint: "grant our user '+cluster|info' and '+cluster|nodes'")
    } else if state.unserved == nil, word.isWell {
      list.ok(area, "\(options): all \(RedisSlot.count) slots are served")
    }
  }

  /// What one server says of itself.
  private static func node(
    _ client: RedisClient, _ options: RedisOptions, _ master: RedisMaster, _ name: String,
    _ keyspace: Keyspace, _ process: CheckedProcess, _ loop: EventLoop, _ list: inout CheckList
  ) async {
    do throws(RedisError) {
      let information = try await client.execute(RedisPipeline(["INFO"]), at: master)
      let begin = loop.clock
      _ = try await client.execute(RedisPipeline(["PING"]), at: master)
      let microseconds = (loop.clock - begin) / 1_000
      let missing = try await CommandPermissions.missing(
        client, at: master, RedisPermissions.commands(keyspace, options, for: process), options)
      if missing.isEmpty {
        list.ok(area, "\(name): our user may do all that \(process.work)")
      } else {
        list.problem(
          area, .configuration, "\(name): our user may not: \(missing.joined(separator: ", "))",
          hint: "grant it the commands that docs/redis.md lists"
            + (process == .worker ? "; events wait until then" : ""))
      }
      guard let fields = RedisInformation(information[0]) else {
        list.warning(
          area, .dependency, "\(name) answers, but does not say what it is",
          hint: "grant our user INFO: \(information[0].errorText ?? "no answer")")
        return
      }
      server(fields, name, options, microseconds: microseconds, &list)
    } catch {
      add(error, &list)
    }
  }

  private static func server(
    _ fields: RedisInformation, _ name: String, _ options: RedisOptions, microseconds: UInt64,
    _ list: inout CheckList
  ) {
    list.ok(area, "\(name): \(fields.product), answers in \(microseconds) µs")
    if isTooOld(fields["redis_version"] ?? "") {
      list.problem(
        area, .dependency, "\(fields.product) has no SMISMEMBER, which tells what is done",
        hint: "Redis 6.2 is the oldest that works, 7 the oldest with read-only keys in ACLs")
    }
    if fields["cluster_enabled"] == "1", options.clusterNodes.isEmpty {
      list.problem(
        area, .configuration, "this is a node of a Redis Cluster", key: "redis.cluster",
        hint: "list it, and some others, in redis.cluster")
    }
    if fields["role"] == "slave" {
      list.problem(
        area, .dependency, "this is a replica: it takes no writes", key: "redis.host",
        hint: "its master is \(fields["master_host"] ?? "?"):\(fields["master_port"] ?? "?")")
    }
    let replicas = fields["connected_slaves"].flatMap { Int($0) } ?? 0
    if replicas < options.replicasToWaitFor {
      list.problem(
        area, .dependency,
        "\(name) has \(replicas) of the \(options.replicasToWaitFor) replicas that are waited for: "
          + "nothing is settled", key: "redis.wait_for_replicas",
        hint: "start its replicas, or see in redis-cli INFO replication why they do not follow")
    }
    eviction(fields, &list)
    persistence(fields, name, &list)
  }

  /// Older than 6.2; a version that is no version passes.
  private static func isTooOld(_ version: String) -> Bool {
    let parts = version.split(separator: ".").map { Int($0) }
    guard parts.count >= 2, let major = parts[0], let minor = parts[1] else { return false }
    return (major, minor) < (6, 2)
  }

  private static func eviction(_ fields: RedisInformation, _ list: inout CheckList) {
    guard let policy = fields["maxmemory_policy"], policy != "noeviction" else { return }
    let limit = fields["maxmemory_human"] ?? fields["maxmemory"] ?? "0"
    // Volatile keys are our own marks and counters: without them redelivered work counts twice.
    list.warning(
      area, .dependency,
      "maxmemory-policy is \(policy): at \(limit) of memory Redis drops followers or done marks",
      hint: "CONFIG SET maxmemory-policy noeviction, and a memory limit that is watched")
  }

  /// Whether there are RDB files, too, only CONFIG says, which our user need not have.
  private static func persistence(
    _ fields: RedisInformation, _ name: String, _ list: inout CheckList
  ) {
    guard fields["aof_enabled"] == "0" else { return }
    list.warning(
      area, .dependency,
      "\(name) has no append-only file: when it is started again it has forgotten what came since "
        + "its last RDB file, or everything where it writes none",
      hint: "CONFIG SET appendonly yes, then CONFIG REWRITE: what is done is marked there")
  }

  private static func write(_ reply: RedisReply, _ list: inout CheckList) {
    guard let error = reply.errorText else {
      list.ok(area, "takes writes")
      return
    }
    let mayNot = error.hasPrefix("NOPERM")
    list.problem(
      area, mayNot ? .configuration : .dependency, "takes no writes: \(error)",
      hint: mayNot ? "grant our user the keys and commands that docs/redis.md lists" : nil)
  }
}
