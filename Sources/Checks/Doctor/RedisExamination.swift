import EventLoop
import Redis
import Settings
import Terminal
import Text

/// The questions of `fanfare doctor` to each Redis beyond those of `fanfare check`: how well it is,
/// and for how long it will be.
struct RedisExamination: Sendable {
  private static let pings = 20
  /// Of the median: Redis in the same data centre answers within a millisecond. Before the first
  /// push of an event a worker waits for Redis three times.
  private static let slowMedian = Duration.milliseconds(5)
  private static let slowMaximum = Duration.milliseconds(100)
  /// Of `maxmemory`; a giant's fan-out takes some more at once.
  private static let fullPercent = 80
  private static let replicaLag = Duration.seconds(10)

  /// Ms since 1970.
  let wallClock: @Sendable () -> Int64

  /// Asks one master.
  func run(
    _ client: RedisClient, at master: RedisMaster, name: String, _ fields: RedisInformation,
    _ loop: EventLoop, _ list: inout CheckList
  ) async throws(RedisError) {
    health(fields, name, &list)
    var times: [Duration] = []
    for _ in 0..<Self.pings {
      let began = loop.clock
      _ = try await client.execute(RedisPipeline(["PING"]), at: master)
      times.append(.nanoseconds(Int64(clamping: loop.clock &- began)))
    }
    latency(times, name, &list)
    let asked = wallClock()
    let reply = try await client.execute(RedisPipeline(["TIME"]), at: master)[0]
    let answered = wallClock()
    guard let seconds = reply[0].decimal, let microseconds = reply[1].decimal else {
      return list.skipped(
        "redis.clock", "\(name) does not say its time: \(reply.errorText ?? "no answer")", of: name)
    }
    ClockJudge(id: "redis.clock", name: name).judge(
      theirs: seconds * 1_000 + microseconds / 1_000, asked: asked, answered: answered, &list)
  }

  /// - Parameter fields: of INFO.
  func health(_ fields: RedisInformation, _ name: String, _ list: inout CheckList) {
    role(fields, name, &list)
    persistence(fields, name, &list)
    memory(fields, name, &list)
    clients(fields, name, &list)
    replicas(fields, name, &list)
  }

  private func role(_ fields: RedisInformation, _ name: String, _ list: inout CheckList) {
    guard fields["role"] == "master" else { return }
    let replicas = fields["connected_slaves"].flatMap { Int($0) } ?? 0
    list.ok(
      "redis.role",
      "\(name) is a master with \(replicas) \(replicas == 1 ? "replica" : "replicas")",
      of: name)
  }

  // MARK: persistence

  /// Whether what it writes to its disk arrives there. `RedisChecks` warns where nothing is
  /// appended.
  private func persistence(_ fields: RedisInformation, _ name: String, _ list: inout CheckList) {
    let appends = fields["aof_enabled"] == "1"
    var isWell = true
    for (field, what) in [
      ("aof_last_write_status", "its last write to the append-only file failed"),
      ("aof_last_bgrewrite_status", "its last rewrite of the append-only file failed"),
      ("rdb_last_bgsave_status", "its last RDB file could not be written"),
    ] {
      guard let status = fields[field[...]], status != "ok" else { continue }
      if field.hasPrefix("aof"), !appends { continue }
      isWell = false
      list.problem(
        "redis.persistence", .dependency, "\(name): \(what) (\(field) is \(status))", of: name,
        hint: "is its disk full, or not writable? Redis refuses writes meanwhile; its log says why")
    }
    guard isWell, appends else { return }
    let saved = fields["rdb_last_save_time"].flatMap { Int64($0) }.map { time in
      let age = Duration.seconds(max(0, wallClock() / 1_000 - time))
      return "; the last RDB file is \(DurationText.text(age)) old"
    }
    list.ok(
      "redis.persistence", "\(name) appends what it is told to a file\(saved ?? "")", of: name)
  }

  // MARK: memory

  private func memory(_ fields: RedisInformation, _ name: String, _ list: inout CheckList) {
    func bytes(_ field: String) -> Int? { fields[field[...]].flatMap { Int($0) } }
    if fields["maxmemory_policy"] == "noeviction" {
      list.ok("redis.eviction", "\(name): maxmemory-policy is noeviction", of: name)
    }
    if let evicted = fields["evicted_keys"].flatMap({ Int($0) }), evicted > 0 {
      list.warning(
        "redis.evicted", .dependency,
        "\(name) has dropped \(Figures.grouped(evicted)) keys for want of memory since it started",
        of: name, hint: "followers or done marks may be missing: restore a backup, or import again")
    }
    guard let used = bytes("used_memory") else { return }
    let maximum = bytes("maxmemory") ?? 0
    let limit = maximum > 0 ? maximum : bytes("total_system_memory") ?? 0
    guard limit > 0 else {
      return list.ok("redis.memory", "\(name) uses \(Figures.bytes(used))", of: name)
    }
    let whose = maximum > 0 ? "of maxmemory" : "of its machine's memory (maxmemory is not set)"
    let percent = Int((Double(used) / Double(limit) * 100).rounded())
    let words =
      "\(name) uses \(Figures.bytes(used)), \(percent) % of \(Figures.bytes(limit)) \(whose)"
    if percent < Self.fullPercent {
      list.ok("redis.memory", words, of: name)
    } else {
      list.warning(
        "redis.memory", .dependency, "\(words): less than \(Self.fullPercent) % is well", of: name,
        hint: "give it more memory (CONFIG SET maxmemory); without any, workers wait at each write")
    }
  }

  private func clients(_ fields: RedisInformation, _ name: String, _ list: inout CheckList) {
    guard let connected = fields["connected_clients"].flatMap({ Int($0) }),
      let maximum = fields["maxclients"].flatMap({ Int($0) }), maximum > 0
    else { return }
    let words =
      "\(name): \(Figures.grouped(connected)) of \(Figures.grouped(maximum)) connections in use"
    if connected * 10 < maximum * 9 {
      list.ok("redis.clients", words, of: name)
    } else {
      list.warning(
        "redis.clients", .dependency, "\(words): less than 90 % is well", of: name,
        hint: "CONFIG SET maxclients, and look for who keeps them: CLIENT LIST")
    }
  }

  // MARK: replicas

  /// `slave0:ip=10.0.0.2,port=6379,state=online,offset=123,lag=0`
  private func replicas(_ fields: RedisInformation, _ name: String, _ list: inout CheckList) {
    let count = fields["connected_slaves"].flatMap { Int($0) } ?? 0
    let written = fields["master_repl_offset"].flatMap { Int64($0) } ?? 0
    for index in 0..<min(count, 64) {
      guard let line = fields["slave\(index)"] else { continue }
      var parts: [Substring: Substring] = [:]
      for part in line.split(separator: ",") {
        let sides = part.split(separator: "=", maxSplits: 1)
        if sides.count == 2 { parts[sides[0]] = sides[1] }
      }
      let replica = "\(parts["ip"] ?? "?"):\(parts["port"] ?? "?")"
      let state = parts["state"] ?? "unknown"
      let lag = parts["lag"].flatMap { Int64($0) } ?? 0
      let behind = max(0, written - (parts["offset"].flatMap { Int64($0) } ?? 0))
      let words =
        "\(replica), a replica of \(name): \(state), heard of \(lag) s ago, "
        + "\(Figures.bytes(Int(clamping: behind))) behind"
      if state == "online", .seconds(lag) <= Self.replicaLag {
        list.ok("redis.replicas", words, of: replica)
      } else {
        list.warning(
          "redis.replicas", .dependency,
          "\(words): online and at most \(DurationText.text(Self.replicaLag)) are wanted",
          of: replica, hint: "its log says why it does not follow")
      }
    }
  }

  // MARK: latency

  func latency(_ times: [Duration], _ name: String, _ list: inout CheckList) {
    let sorted = times.sorted()
    guard let least = sorted.first, let most = sorted.last else { return }
    let median = sorted[sorted.count / 2]
    let words =
      "\(name) answers \(sorted.count) PINGs in \(Self.text(least)) at least, \(Self.text(median)) "
      + "in the median, \(Self.text(most)) at most"
    guard median > Self.slowMedian || most > Self.slowMaximum else {
      return list.ok("redis.latency", words, of: name)
    }
    list.warning(
      "redis.latency", .dependency,
      "\(words): \(Self.text(Self.slowMedian)) and \(Self.text(Self.slowMaximum)) are well",
      of: name,
      hint:
        "is it far away, or busy? redis-cli --latency-history, SLOWLOG GET and INFO commandstats")
  }

  private static func text(_ time: Duration) -> String { DurationText.text(time) }
}
