import APNsSimulator
import Pipeline
import Processes
import Record
import Rules
import Telemetry
import TestBed
import Testing
import Traces

/// What became of an event for one user, on the whole way: what Apple said, what kept it from them,
/// and what nobody knows. The verb and the API's reader say the same.
@Suite(.serialized) struct TraceTests {
  private static func reader(_ bed: WorkerBed) throws -> TraceOptions {
    let options = try bed.options()
    return TraceOptions(
      keyspace: bed.keyspace, ingest: options.ingest, rules: options.expand.rules
    ) { name in options.templates.first { $0.name == name } }
  }

  private static func trace(
    _ bed: WorkerBed, _ event: String, _ user: String
  ) async throws -> Trace {
    let options = try reader(bed)
    return try await bed.withRedis { redis async throws in
      try await TraceReader(redis: redis, options: options).trace(event, of: user, now: 0)
    }
  }

  private static func verdict(
    _ bed: WorkerBed, _ event: String, _ user: String
  ) async throws -> String {
    do throws(any Error) {
      let finding = try await trace(bed, event, user).finding
      return "\(finding.verdict.rawValue) \(finding.reason)"
    } catch let error as TraceError {
      return "\(error)"
    }
  }

  private static func magic(_ answer: String, _ number: Int) -> String {
    MagicTokens.prefix + answer + paddedHex(number).suffix(52)
  }

  @Test func everyFateIsToldOfItsUser() async throws {
    let bed = try await WorkerBed()
    try await bed.follow(
      "s1",
      tokens: [
        paddedHex(0), Self.magic("0410", 1), Self.magic("0400", 2), paddedHex(3), paddedHex(4),
        Self.magic("0503", 5), Self.magic("1503", 6),
      ])
    try bed.redis.cli("HSET", "ffd:{u:s1-u3}:profile", "muted", "1")
    let other = "apns:production:com.example.other:\(paddedHex(4))"
    try bed.redis.cli("DEL", "ffd:{u:s1-u4}:bindings")
    try bed.redis.cli("SADD", "ffd:{u:s1-u4}:bindings", other)
    try bed.redis.cli("HSET", "ffd:{u:stranger}:profile", "name", "Kim")
    try await bed.follow("s2", tokens: [Self.magic("0503", 7)])
    let worker = try await bed.startWorker {
      $0.straggleAfter = .milliseconds(100)
      $0.straggleDelay = .seconds(1)
    }
    try await bed.emit("e1")
    try await bed.emit("e2", streamer: "s2", expiresIn: 8)
    _ = try await bed.until("what waited once is over") {
      try await Self.verdict(bed, "e1", "s1-u6") == "presumably-accepted " ? true : nil
    }
    #expect(try await Self.verdict(bed, "e1", "s1-u0") == "presumably-accepted ")
    #expect(try await Self.verdict(bed, "e1", "s1-u1") == "rejected Unregistered")
    #expect(try await Self.verdict(bed, "e1", "s1-u2") == "rejected BadDeviceToken")
    #expect(try await Self.verdict(bed, "e1", "s1-u3") == "suppressed muted")
    #expect(try await Self.verdict(bed, "e1", "s1-u4") == "other-topic \(WorkerBed.app)")
    #expect(try await Self.verdict(bed, "e1", "s1-u5") == "waiting ")
    #expect(try await Self.verdict(bed, "e1", "stranger") == "not-following ")
    #expect(try await Self.verdict(bed, "e1", "nobody") == "unknownUser")
    #expect(try await Self.verdict(bed, "e9", "s1-u0") == "unknownEvent")
    let expired = try await bed.until("the event has expired") {
      try await Self.verdict(bed, "e2", "s2-u0") == "expired " ? true : nil
    }
    #expect(expired)
    try await Self.expectTheVerbSaysTheSame(bed)
    #expect(await worker.stop())
    // No token is ever logged.
    #expect(!bed.sink.lines.contains { $0.contains(paddedHex(1).suffix(52)) })
  }

  /// A rule keeps an event from a user, or from one of a user's devices.
  @Test func whatARuleKeptIsToldOfItsUser() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: (0..<3).map(paddedHex))
    let old = "apns:production:\(WorkerBed.app):\(paddedHex(9))"
    try bed.redis.cli("SADD", "ffd:{u:s1-u0}:bindings", old)
    try bed.redis.cli("HSET", "ffd:{u:s1-u0}:bound", old, "7")
    try bed.redis.cli("HSET", "ffd:{u:s1-u1}:profile", "muted_streamers", "s2\ns1")
    let now = String(WallClock.nowMilliseconds())
    try bed.redis.cli("ZADD", "ffd:{u:s1-u2}:reached", now, "another")
    let worker = try await bed.startWorker {
      $0.expand.rules = RecipientRules(
        mutesStreamers: true, picksNewestDevice: true, eventsPerHour: 1)
    }
    try await bed.emit("e1")
    _ = try await bed.finished("e1")
    let newest = try await Self.trace(bed, "e1", "s1-u0")
    #expect(newest.finding.verdict == .presumablyAccepted)
    #expect(newest.devices.map(\.finding.reason) == ["", "device"])
    #expect(try await Self.verdict(bed, "e1", "s1-u1") == "suppressed muted")
    #expect(try await Self.verdict(bed, "e1", "s1-u2") == "suppressed cap")
    #expect(await worker.stop())
  }

  /// Logged out while the push waited for its next try.
  @Test func whatIsCancelledWhileItWaitsIsToldOfItsUser() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: [Self.magic("0503", 1)])
    let worker = try await bed.startWorker {
      $0.straggleAfter = .milliseconds(100)
      $0.straggleDelay = .seconds(1)
    }
    try await bed.emit("e1")
    _ = try await bed.until("the push waits") {
      try await Self.verdict(bed, "e1", "s1-u0") == "waiting " ? true : nil
    }
    try bed.redis.cli("DEL", "ffd:{u:s1-u0}:bindings")
    _ = try await bed.finished("e1")
    let trace = try await Self.trace(bed, "e1", "s1-u0")
    #expect(trace.finding.verdict == .cancelled && trace.devices.map(\.state) == [.gone])
    #expect(trace.devices.first?.sends ?? 0 > 0)
    #expect(await worker.stop())
  }

  @Test func acceptedPushesAreToldOfWhereTheyAreKept() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: [paddedHex(0)])
    let worker = try await bed.startWorker { $0.record.trace = .all }
    try await bed.emit("e1")
    _ = try await bed.finished("e1")
    let trace = try await Self.trace(bed, "e1", "s1-u0")
    #expect(trace.finding.verdict == .accepted)
    #expect(trace.devices.first?.sends == 1 && trace.devices.first?.at ?? 0 > 0)
    let known = await bed.simulator.counts(of: [paddedHex(0)])
    #expect(known.map(\.accepted) == [1])
    guard case .preview(let preview) = trace.rendered else {
      Issue.record("it would not be rendered")
      return
    }
    #expect(preview.payload.contains("Speedrun night") || preview.payload.contains("Aiko"))
    #expect(await worker.stop())
  }

  private static func expectTheVerbSaysTheSame(_ bed: WorkerBed) async throws {
    for (user, access) in [
      ("s1-u1", Trace.Access(showsTokens: false, showsPayload: false)),
      ("s1-u3", Trace.Access(showsTokens: true, showsPayload: true)),
    ] {
      let trace = try await trace(bed, "e1", user)
      let place =
        bed.cluster.map { "redis.cluster=" + $0.addresses.joined(separator: ",") }
        ?? "redis.port=\(bed.redis.port)"
      let flags = access.showsTokens ? ["--tokens", "--payload"] : []
      let printed = try ChildProcess.run(
        [
          WorkerExecutable.path, "trace", "--event", "e1", "--user", user, "--json", "--set", place,
          "--set", "templates.directory=\(WorkerBed.templates)",
        ] + flags)
      #expect(printed == trace.jsonText(access) + "\n")
      #expect(printed.contains("\"payload\":") == access.showsPayload)
    }
    let text = try ChildProcess.run([
      WorkerExecutable.path, "trace", "--event", "e1", "--user", "s1-u3", "--set",
      bed.cluster.map { "redis.cluster=" + $0.addresses.joined(separator: ",") }
        ?? "redis.port=\(bed.redis.port)",
      "--set", "templates.directory=\(WorkerBed.templates)",
    ])
    #expect(text.contains("muted") && !text.contains(paddedHex(3)))
    #expect(text.contains("\(paddedHex(3).prefix(8))…"))
  }
}
