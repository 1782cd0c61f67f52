import APNsSimulator
import Fixtures
import Glibc
import Processes
import Settings
import TestBed
import Testing

/// What a pod's probes and Prometheus get from a worker process.
@Suite struct WorkerProbesTests {
  private static func get(_ target: String, port: Int) throws -> String {
    let client = try RawClient(port: port)
    client.send("GET \(target) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    return client.readToEnd() ?? ""
  }

  /// - Parameter series: with its labels.
  private static func value(of series: String, in metrics: String) -> Double? {
    metrics.split(separator: "\n").first { $0.hasPrefix(series + " ") }
      .flatMap { Double($0.dropFirst(series.count + 1)) }
  }

  @Test func aWorkerSaysThatItIsReadyUntilItDrains() async throws {
    var script = SimulatorScript()
    script.silentAfter = 3
    let bed = try await WorkerBed(script: script)
    try await bed.follow("s1", tokens: [paddedHex(1), paddedHex(2)])
    try await bed.follow("s2", tokens: [paddedHex(3), paddedHex(4)])
    let port = try LocalPort.findFree()
    let worker = try await bed.startProcess(
      "w1", executable: WorkerExecutable.path,
      settings: [
        "probes.port=\(port)", "lanes.count=1", "lanes.drain_timeout=100s",
        "kafka.session_timeout=201s", "apns.request_timeout=90s",
      ])
    #expect(try Self.get("/readyz", port: port).hasSuffix("\r\n\r\nok\n"))
    #expect(try Self.get("/startupz", port: port).contains(" 200 "))
    #expect(try Self.get("/livez", port: port).contains(" 200 "))

    try await bed.emit("e1")
    _ = try await bed.finished("e1")
    // Redis knows first.
    let metrics = try await bed.until("the metrics count the pushes") {
      let metrics = try Self.get("/metrics", port: port)
      return metrics.contains("\nfanfare_pushes_total{outcome=\"accepted\"} 2\n") ? metrics : nil
    }
    #expect(metrics.contains("\nfanfare_kafka_partitions 16\n"))
    #expect(metrics.contains("\nfanfare_event_age_seconds_count 1\n"))
    let duration = "fanfare_push_request_duration_seconds"
    #expect(metrics.contains("\n\(duration)_count{platform=\"apns\"} 2\n"))
    #expect(metrics.contains("\n\(duration)_bucket{platform=\"apns\",le=\"30\"} 2\n"))

    #expect(
      metrics.contains(
        #"fanfare_push_requests_total{platform="apns",status="200",reason=""} 2"# + "\n"))
    #expect(metrics.contains("\nfanfare_fanout_duration_seconds_count 1\n"))
    #expect(metrics.contains("\nfanfare_fanout_first_push_seconds_count 1\n"))
    #expect(metrics.contains("\nfanfare_fanouts_active 0\n"))
    #expect(Self.value(of: "fanfare_push_streams_limit{platform=\"apns\"}", in: metrics) ?? 0 > 0)
    #expect(metrics.contains(",librdkafka=\"2.") && metrics.contains(",hiredis=\"0."))
    let polled = Self.value(of: "fanfare_kafka_last_poll_timestamp_seconds", in: metrics)
    #expect(polled.map { Double(time(nil)) - $0 < 60 } == true)
    #expect(Self.value(of: "fanfare_log_lines_total{level=\"info\"}", in: metrics) ?? 0 > 0)

    #expect(!metrics.contains("\nfanfare_redis_command_duration_seconds_count 0\n"))
    #expect(metrics.contains("\nfanfare_redis_failures_total 0\n"))

    // The last push is never answered.
    try await bed.emit("e2", streamer: "s2")
    _ = try await bed.until("a push is in flight") {
      await bed.simulator.summary().requests == 4 ? true : nil
    }
    // The answer to the one before it may be on its way.
    let hanging = try await bed.until("it is the only one in flight") {
      let metrics = try Self.get("/metrics", port: port)
      let streams = #"fanfare_push_streams_in_flight{platform="apns"} 1"#
      return metrics.contains("\n\(streams)\n") ? metrics : nil
    }
    #expect(hanging.contains("\nfanfare_fanouts_active 1\n"))
    worker.signal(SIGTERM)
    let drains = try await bed.until("it says that it stops") {
      let answer = try Self.get("/readyz", port: port)
      return answer.contains("[-] running: the worker stops") ? answer : nil
    }
    #expect(drains.contains(" 503 "))
    #expect(try Self.get("/livez", port: port).contains(" 200 "))
    worker.stop(SIGKILL)
  }

  @Test func aWorkerWithoutRedisLivesAndIsNotReady() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: [paddedHex(1)])
    let port = try LocalPort.findFree()
    bed.redis.stop()
    let worker = try bed.beginProcess(
      "w1", executable: WorkerExecutable.path, settings: ["probes.port=\(port)"])
    let answer = try await bed.until("it has partitions, and has tried to connect") {
      let answer = (try? Self.get("/readyz?verbose", port: port)) ?? ""
      let isThere = answer.contains("[-] redis: ") && answer.contains("[+] partitions: ok")
      return isThere ? answer : nil
    }
    #expect(answer.contains(" 503 "))
    #expect(access(bed.readyFile("w1"), F_OK) != 0, "it is not ready")
    #expect(answer.contains("[+] waiting: ok"))
    #expect(try Self.get("/livez", port: port).contains(" 200 "))
    #expect(try Self.get("/startupz", port: port).contains(" 503 "), "it has never been ready")
    try await bed.emit("e1")
    let waits = try await bed.until("it says what it waits for") {
      let answer = try Self.get("/readyz?verbose", port: port)
      return answer.contains("[-] waiting: to ") ? answer : nil
    }
    #expect(waits.ranges(of: "cannot be reached").count == 1, "\(waits)")
    try bed.redis.start()
    try await bed.hasPartitions(worker, "w1")
    worker.stop(SIGKILL)
  }

  /// The kernel keeps who waits; the listening socket is ready all the time.
  @Test func aWorkerWithoutDescriptorsWaitsForThemAndServesAgain() async throws {
    let bed = try await WorkerBed()
    let port = try LocalPort.findFree()
    let worker = try await bed.startProcess(
      "w1", executable: WorkerExecutable.path,
      settings: ["probes.port=\(port)", "lanes.count=1", "log.format=text"])
    #expect(try Self.get("/livez", port: port).contains(" 200 "))
    try Self.limitDescriptors(of: worker.processID, to: 3)
    let waiting = try RawClient(port: port)
    waiting.send("GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    let before = try Self.probesTicks(of: worker.processID)
    let until = ContinuousClock.now + .seconds(2)
    _ = try await bed.until("two seconds without descriptors have passed") {
      ContinuousClock.now >= until ? true : nil
    }
    let ticks = try Self.probesTicks(of: worker.processID) - before
    #expect(ticks < 50, "half a second of a core")
    try Self.limitDescriptors(of: worker.processID, to: 1024)
    #expect(waiting.readToEnd()?.contains(" 200 ") == true)
    #expect(try Self.get("/livez", port: port).contains(" 200 "))
    worker.stop(SIGKILL)
  }

  private static func limitDescriptors(of process: pid_t, to limit: Int) throws {
    _ = try ChildProcess.run(["prlimit", "--pid", "\(process)", "--nofile=\(limit):"])
  }

  /// Hundredths of a second that the thread of the probes has run.
  private static func probesTicks(of process: pid_t) throws -> Int {
    let states = try ChildProcess.run([
      "sh", "-c", "cat /proc/\(process)/task/*/stat 2>/dev/null; true",
    ])
    let line = states.split(separator: "\n").first { $0.contains("(probes)") }
    let fields = try #require(line?.split(separator: ")").last).split(separator: " ")
    return try #require(Int(fields[11])) + #require(Int(fields[12]))
  }

  @Test func aTakenPortIsSaid() async throws {
    let bed = try await WorkerBed()
    let taken = bed.redis.port
    let process = try ChildProcess(
      [
        WorkerExecutable.path, "worker", "--set", "probes.port=\(taken)", "--set",
        "kafka.bootstrap_servers=\(bed.bootstrapServers)", "--set",
        "apns.key_file=\(bed.address.providerKeyFile ?? "")", "--set",
        "apns.key_id=\(bed.address.keyID)", "--set", "apns.team_id=\(bed.address.teamID)",
        "--set", "templates.directory=Config/templates",
      ], output: .file(bed.directory.file("out")))
    #expect(process.waitForExit() == 1)
    let text = try BoundedFile.read(bed.directory.file("out"), maximumBytes: 65_536).text
    #expect(text.contains("probes: cannot listen on 127.0.0.1 port \(taken)"))
  }
}
