import Devices
import EventLoop
import Keyspace
import Record
import Redis

/// Whether one Redis is the right one, and will keep what it is given. Confined to its loop.
struct RedisNodeChecks {
  let client: RedisClient
  let options: RedisOptions
  let keyspace: Keyspace
  let process: CheckedProcess
  let loop: EventLoop
  /// Nil: nothing is asked beyond `fanfare check`.
  let examination: RedisExamination?

  /// Checks one server by its own replies.
  func run(_ master: RedisMaster, _ name: String, _ list: inout CheckList) async {
    do throws(RedisError) {
      let information = try await client.execute(RedisPipeline(["INFO"], ["ROLE"]), at: master)
      let begin = loop.clock
      _ = try await client.execute(RedisPipeline(["PING"]), at: master)
      let microseconds = (loop.clock - begin) / 1_000
      rights(try await missing(at: master), name, &list)
      if RedisRole(information[1]) == .untold {
        list.warning(
          "redis.role", .configuration, "\(name) does not say its ROLE: a replica is not noticed",
          hint: "grant our user ROLE: \(information[1].errorText ?? "no answer")")
      }
      guard let fields = RedisInformation(information[0]) else {
        list.warning(
          "redis.information", .dependency, "\(name) answers, but does not say what it is",
          hint: "grant our user INFO: \(information[0].errorText ?? "no answer")")
        return
      }
      Self.server(fields, name, options, microseconds: microseconds, &list)
      try await examination?.run(client, at: master, name: name, fields, loop, &list)
    } catch {
      RedisChecks.add(error, &list)
    }
  }

  /// The commands that our user may not use. An examination asks first without trying them.
  private func missing(at master: RedisMaster) async throws(RedisError) -> [String] {
    let commands = RedisPermissions.commands(keyspace, options, for: process)
    if examination != nil,
      let missing = try await CommandPermissions.missingByDryRun(
        client, at: master, commands, options)
    {
      return missing
    }
    return try await CommandPermissions.missing(client, at: master, commands, options)
  }

  private func rights(_ missing: [String], _ name: String, _ list: inout CheckList) {
    guard !missing.isEmpty else {
      return list.ok("redis.rights", "\(name): our user may do all that \(process.work)")
    }
    list.problem(
      "redis.rights", .configuration,
      "\(name): our user may not: \(missing.joined(separator: ", "))",
      hint: "grant it the commands that docs/redis.md lists"
        + (process == .worker ? "; events wait until then" : ""))
  }

  private static func server(
    _ fields: RedisInformation, _ name: String, _ options: RedisOptions, microseconds: UInt64,
    _ list: inout CheckList
  ) {
    list.ok("redis.version", "\(name): \(fields.product), answers in \(microseconds) µs")
    if isTooOld(fields["redis_version"] ?? "") {
      list.problem(
        "redis.version", .dependency,
        "\(fields.product) has no SMISMEMBER, which tells what is done",
        hint: "Redis 6.2 is the oldest that works, 7 the oldest with read-only keys in ACLs")
    }
    if fields["cluster_enabled"] == "1", options.clusterNodes.isEmpty {
      list.problem(
        "redis.cluster", .configuration, "this is a node of a Redis Cluster", key: "redis.cluster",
        hint: "list it, and some others, in redis.cluster")
    }
    if fields["role"] == "slave" {
      list.problem(
        "redis.role", .dependency, "this is a replica: it takes no writes", key: "redis.host",
        hint: "its master is \(fields["master_host"] ?? "?"):\(fields["master_port"] ?? "?")")
    }
    let replicas = fields["connected_slaves"].flatMap { Int($0) } ?? 0
    if replicas < options.replicasToWaitFor {
      list.problem(
        "redis.replicas", .dependency,
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
      "redis.eviction", .dependency,
      "maxmemory-policy is \(policy): at \(limit) of memory Redis drops followers or done marks",
      hint: "CONFIG SET maxmemory-policy noeviction, and a memory limit that is watched")
  }

  /// Whether there are RDB files, too, only CONFIG says, which our user need not have.
  private static func persistence(
    _ fields: RedisInformation, _ name: String, _ list: inout CheckList
  ) {
    guard fields["aof_enabled"] == "0" else { return }
    list.warning(
      "redis.persistence", .dependency,
      "\(name) has no append-only file: when it is started again it has forgotten what came since "
        + "its last RDB file, or everything where it writes none",
      hint: "CONFIG SET appendonly yes, then CONFIG REWRITE: what is done is marked there")
  }
}
