import Assembly
import Glibc
import Kafka
import Pipeline
import Processes
import Settings
import Telemetry
import TestBed
import Testing

/// What a worker tells an operator that it keeps in memory at most is what the system sees.
@Suite struct MemoryTests {
  /// Each of 64 segments has 750 pushes of some 3,900 bytes, and three devices for which Apple
  /// never answers, so that none of its batches ends: 190 MB of payloads, were nothing bounded.
  @Test func aWorkerKeepsNoMoreThanItSays() async throws {
    let (segments, perSegment) = (64, 750)
    let bed = try await WorkerBed()
    try await bed.followInShards("s1", shards: segments, perShard: perSegment) { shard, index in
      index % 250 == 5
        ? "fa4efa4e0fff" + paddedHex(shard << 16 | index).dropFirst(12)
        : paddedHex(shard << 16 | index)
    }
    let settings = ["lanes.count=1", "lanes.batch_bytes=16MiB"]
    let worker = try await bed.startProcess(
      "w1", executable: WorkerExecutable.path,
      settings: settings + ["templates.directory=\(try Self.largeTemplate(bed))"])
    let idle = try Self.peak(of: worker)
    try await bed.emit(raw: Self.event, key: "s1")
    _ = try await bed.until("many are accepted") {
      await bed.simulator.summary().accepted >= segments * perSegment * 2 / 3 ? true : nil
    }

    let budget = Assembly.memoryBudget(try Self.settings(settings))
    let peak = try Self.peak(of: worker)
    #expect(peak <= budget.bytes)
    // The pages of this audience are small, and Kafka's records few.
    let batches = try #require(budget.lane.first { $0.name == "batches" })
    #expect(peak - idle <= batches.bytes)
    worker.stop(SIGKILL)
  }

  /// `VmHWM`: the most that was ever resident.
  private static func peak(of process: ChildProcess) throws -> Int {
    let status = try BoundedFile.read(
      "/proc/\(process.processID)/status", maximumBytes: 65_536
    ).text
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(line.split(separator: " ").compactMap { Int($0) }.first) * 1024
  }

  private static func settings(_ overrides: [String]) throws -> Settings {
    let pairs = overrides.map { $0.split(separator: "=").map(String.init) }
    let report = SettingsLoader.load(
      SettingsInput(environment: [:], overrides: pairs.map { ($0[0], $0[1]) }))
    return try report.settings()
  }

  private static func largeTemplate(_ bed: WorkerBed) throws -> String {
    let file = try bed.directory.write(
      """
      push_type: alert
      default_locale: en
      payload:
        aps: { alert: "{{streamer.name}}" }
        a: "{{data.a}}"
        b: "{{data.b}}"
        c: "{{data.c}}"
        d: "{{data.d}}"
      locales:
        en: {}
      """, to: "large.yaml")
    return file.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
  }

  private static var event: [UInt8] {
    let data = ["a", "b", "c", "d"].map { "\"\($0)\":\"\(String(repeating: $0, count: 950))\"" }
    return Array(
      """
      {"id":"e1","app":"\(WorkerBed.app)","streamer":{"id":"s1","name":"Aiko"},\
      "stream":{"id":"b1"},"template":"large","occurred_at":\
      "\(WallClock.rfc3339(WallClock.nowMilliseconds()))","expires_in":300,\
      "data":{\(data.joined(separator: ","))}}
      """.utf8)
  }
}
