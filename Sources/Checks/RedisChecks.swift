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
  /// - Parameter examination: what else is asked of each master; nil: nothing.
  static func run(
    _ settings: Settings, for process: CheckedProcess, timeout: Duration, deniesWarnings: Bool,
    examination: RedisExamination? = nil
  ) async -> CheckList {
    var list = CheckList(deniesWarnings: deniesWarnings)
    var read: RedisOptions
    do {
      read = try Assembly.redisOptions(settings)
    } catch {
      list.add("redis.settings", error)
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
        var detours: [String] = []
        let client = RedisClient(
          options: options, loop: loop, log: { if $0.contains(detour) { detours.append($0) } })
        client.start()
        defer { client.close() }
        let nodes = RedisNodeChecks(
          client: client, options: options, keyspace: keyspace, process: process, loop: loop,
          examination: examination)
        var found = await look(nodes, deniesWarnings)
        if examination != nil, let line = detours.first {
          found.warning(
            "redis.role", .configuration, line, key: "redis.host",
            hint: "name the master, or its sentinels: while this replica is away, nobody finds it")
        }
        return found
      })
    return list
  }

  /// The client's log line when it was given the address of a replica.
  private static let detour = "leads to a replica"

  private static func look(_ nodes: RedisNodeChecks, _ deniesWarnings: Bool) async -> CheckList {
    let (client, options) = (nodes.client, nodes.options)
    var list = CheckList(deniesWarnings: deniesWarnings)
    do {
      let ping = RedisPipeline(["PING"])
      _ = try await client.execute(ping)
      if let state = client.clusterState {
        let word = await word(of: state.masters.map(\.master), client)
        slots(state, word, options, &list)
        for (master, count) in state.masters {
          let name = "\(master) (\(count) slots)"
          await nodes.run(master, name, &list)
        }
      } else {
        for (master, _) in try await client.executeOnMasters(ping) {
          await nodes.run(master, "\(options)", &list)
        }
      }
      await ReplicaChecks.run(client, options, nodes.loop, &list)
      let written = try await client.execute(
        RedisPermissions.write(nodes.keyspace, for: nodes.process))
      write(written[0], &list)
    } catch {
      add(error, &list)
    }
    return list
  }

  static func add(_ error: RedisError, _ list: inout CheckList) {
    let isOurs = error.code == .authentication || error.code == .refused
    list.problem("redis.connection", isOurs ? .configuration : .outage, error.description)
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
        "redis.slots", .outage, "\(options): no node serves the slots \(unserved)",
        hint: "redis-cli --cluster check says more, and --cluster fix mends it")
    }
    for (name, failing) in word.failing.sorted(by: { $0.key < $1.key }) {
      list.problem(
        "redis.slots", .outage,
        "\(options): nobody serves the slots \(failing.slots): their master \(name) is gone, says "
          + failing.by.joined(separator: ", "),
        hint: "start it again, or have a replica take over: CLUSTER FAILOVER TAKEOVER")
    }
    if !word.down.isEmpty {
      list.problem(
        "redis.slots", .outage,
        "\(options): cluster_state:fail, says " + word.down.joined(separator: ", "))
    }
    if let refusal = word.refusal {
      list.warning(
        "redis.slots", .configuration,
        "\(options): whether its masters live is not known: \(refusal)",
        hint: "grant our user '+cluster|info' and '+cluster|nodes'")
    } else if state.unserved == nil, word.isWell {
      list.ok("redis.slots", "\(options): all \(RedisSlot.count) slots are served")
    }
  }

  private static func write(_ reply: RedisReply, _ list: inout CheckList) {
    guard let error = reply.errorText else {
      list.ok("redis.writes", "takes writes")
      return
    }
    let mayNot = error.hasPrefix("NOPERM")
    list.problem(
      "redis.writes", mayNot ? .configuration : .dependency, "takes no writes: \(error)",
      hint: mayNot ? "grant our user the keys and commands that docs/redis.md lists" : nil)
  }
}

/// Whether there are replicas that bindings and profiles would be read from.
enum ReplicaChecks {
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
        list.warning(
          "redis.replica_reads", .dependency, "\(name), is not read from: \(obstacle)", key: key)
      } else {
        list.ok("redis.replica_reads", "\(name): at most \(DurationText.text(replica.lag)) behind")
      }
    }
    for master in figures.mastersAlone {
      list.warning(
        "redis.replica_reads", .dependency,
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
      ["TIME"], ["ZRANGE", key, "0", "0", "REV"], ["ZADD", key, "XX", "1", "a"],
    ]
  }
}
