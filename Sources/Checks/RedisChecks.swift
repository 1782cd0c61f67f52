import Assembly
import Devices
import EventLoop
import Keyspace
import Record
import Redis
import Settings
import Text

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

  /// Checks one server by its own replies.
  private static func node(
    _ client: RedisClient, _ options: RedisOptions, _ master: RedisMaster, _ name: String,
    _ keyspace: Keyspace, _ process: CheckedProcess, _ loop: EventLoop, _ list: inout CheckList
  ) async {
    do throws(RedisError) {
      let information = try await client.execute(RedisPipeline(["INFO"], ["ROLE"]), at: master)
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
      if RedisRole(information[1]) == .untold {
        list.warning(
          area, .configuration, "\(name) does not say its ROLE: a replica is not noticed",
          hint: "grant our user ROLE: \(information[1].errorText ?? "no answer")")
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

/// Whether there are replicas that bindings and profiles would be read from.
enum ReplicaChecks {
  private static let area = "redis"
  private static let key = "redis.read_from_replicas"
  private static let pause: Duration = .milliseconds(20)

  /// They have as long as a connection to become of use.
  static func run(
    _ client: RedisClient, _ options: RedisOptions, _ loop: EventLoop, _ list: inout CheckList
  ) async {
    guard let limit = options.replicaLagLimit else { return }
    var left = options.connectTimeout
    while left > .zero, client.replicaFigures?.isComplete != true {
      await loop.wait(pause)
      left -= pause
    }
    guard let figures = client.replicaFigures else { return }
    for replica in figures.replicas {
      let name = "\(replica.name), a replica of \(replica.master)"
      if let obstacle = replica.obstacle {
        list.warning(area, .dependency, "\(name), is not read from: \(obstacle)", key: key)
      } else {
        list.ok(area, "\(name): at most \(DurationText.text(replica.lag)) behind")
      }
    }
    for master in figures.mastersAlone {
      list.warning(
        area, .dependency,
        "\(master) has no replica within \(DurationText.text(limit)): bindings and profiles are "
          + "read from the master", key: key)
    }
  }
}

/// The replies of a Redis Cluster's masters about the cluster and about each other. A slot that has
/// a master may have a dead one.
struct ClusterWord {
  static var questions: RedisPipeline { RedisPipeline(["CLUSTER", "INFO"], ["CLUSTER", "NODES"]) }

  /// Masters that said nothing.
  private(set) var silent: [String] = []
  /// Masters that refuse what they are asked, since they take the cluster to be down.
  private(set) var down: [String] = []
  /// Masters with slots that another calls dead (`fail`), or suspects to be (`fail?`).
  private(set) var failing: [String: (slots: String, by: [String])] = [:]
  /// Why one may not be asked.
  private(set) var refusal: String?

  var isWell: Bool { silent.isEmpty && down.isEmpty && failing.isEmpty }

  mutating func isSilent(_ master: String) { silent.append(master) }

  mutating func add(_ replies: RedisReplies, of master: String) {
    guard let state = replies[0].text, let nodes = replies[1].text else {
      refusal = replies.firstError.map { "\($0)" } ?? "no answer"
      return
    }
    if state.contains("cluster_state:fail") { down.append(master) }
    for line in nodes.split(whereSeparator: \.isNewline) { note(line, said: master) }
  }

  /// `<id> <ip:port@bus,name> <flags> <master> <ping> <pong> <epoch> <link> <slots>…`; slots in
  /// brackets are on the move.
  private mutating func note(_ line: Substring, said master: String) {
    let words = line.split(separator: " ")
    guard words.count > 8 else { return }
    let flags = words[2].split(separator: ",")
    let slots = words[8...].filter { !$0.hasPrefix("[") }.joined(separator: ", ")
    guard flags.contains("master"), flags.contains("fail") || flags.contains("fail?"),
      !slots.isEmpty
    else { return }
    let name = String(words[1].prefix { $0 != "@" })
    failing[name, default: (slots, [])].by.append(master)
  }
}

/// Whether our user may do with Redis all that a process does. One that lacks a command finds that
/// out when it first needs it, and events wait until then: here each is tried, on keys of nobody's
/// that are gone within seconds.
enum RedisPermissions {
  /// A key like those that dashboards may read.
  private static func shownProbe(_ keyspace: Keyspace) -> String {
    "\(keyspace.dashboardsPrefix){check}"
  }

  /// A hash: another check may write the other key at the same time, as a text.
  private static func fanOutProbe(_ keyspace: Keyspace) -> String {
    shownProbe(keyspace) + ":fanout"
  }

  /// Whether Redis takes writes, the first of the replies says. Nothing of it stays.
  static func write(_ keyspace: Keyspace, for process: CheckedProcess) -> RedisPipeline {
    switch process {
    case .fanout:
      let pipeline = RedisPipeline(["HSET", fanOutProbe(keyspace), "a", "1"])
      pipeline.append(["HDEL", fanOutProbe(keyspace), "a"])
      return pipeline
    case .devices: return RedisPipeline(["SET", keyspace.probe, "1", "EX", "1"])
    case .worker, .api, .emit, .send:
      return RedisPipeline(["SET", shownProbe(keyspace), "1", "EX", "1"])
    }
  }

  /// Each of the process' commands, as docs/redis.md lists them for ACLs, but for those with which
  /// every connection begins. Keys that they make are removed again, or expire.
  static func commands(
    _ keyspace: Keyspace, _ options: RedisOptions, for process: CheckedProcess
  ) -> [[String]] {
    switch process {
    case .worker: WorkerPermissions.commands(keyspace.probe, options)
    case .api: DevicePermissions.commandsOfAPI(keyspace.probe)
    case .devices: DevicePermissions.commands(keyspace.probe)
    case .fanout: ofFanOuts(fanOutProbe(keyspace))
    case .emit, .send: []
    }
  }

  /// Commands of `fanout`, `top` and `tap`, which may use no keys but those that dashboards see.
  private static func ofFanOuts(_ key: String) -> [[String]] {
    CommandPermissions.ofScripts(key) + [
      ["HSET", key, "a", "1"], ["EXPIRE", key, "1"], ["HGET", key, "a"], ["HMGET", key, "a"],
      ["HGETALL", key], ["HDEL", key, "a"], ["XREVRANGE", key, "+", "-"],
      ["ZRANGE", key, "0", "0", "REV"], ["TIME"],
    ]
  }
}
