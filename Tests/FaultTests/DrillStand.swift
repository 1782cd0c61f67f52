import APNsSimulator
import Fixtures
import Glibc
import JSON
import Processes
import ServerProcesses
import TestBed
import Testing

/// What one drill needs, for itself alone: Redis, Kafka, Apple, a worker and an API as processes
/// with the settings' defaults, and somebody who looks at the dashboard.
final class DrillStand: Sendable {
  static let workerID = "w1"
  static let soundTemplate = "payload: { aps: { alert: hello } }\n"
  static let brokenTemplate = "payload: { aps: {\n"
  static let templateFile = "texts/go-live.yaml"

  let bed: WorkerBed
  let worker: ChildProcess
  let alerts: AlertStream
  private let api: ChildProcess
  private let probesPort: Int

  private init(
    _ bed: WorkerBed, worker: ChildProcess, api: ChildProcess, alerts: AlertStream, probesPort: Int
  ) {
    self.bed = bed
    self.worker = worker
    self.api = api
    self.alerts = alerts
    self.probesPort = probesPort
  }

  /// Returns when the dashboard shows a worker, and no alert.
  static func start(_ script: SimulatorScript) async throws -> DrillStand {
    // Named, so that it is no cluster, which knows no REPLICAOF.
    let bed = try await WorkerBed(redis: RedisServerProcess(), script: script)
    let templates = "templates.directory=" + (try bed.directory.makeDirectory("texts"))
    try bed.directory.write(soundTemplate, to: templateFile)
    let (probesPort, port) = (try LocalPort.findFree(), try LocalPort.findFree())
    let worker = try bed.beginProcess(
      workerID, executable: WorkerExecutable.path,
      settings: [templates, "probes.port=\(probesPort)"])
    let (key, keysFile) = try makeKey(bed)
    let settings = [
      templates, "redis.port=\(bed.redis.port)", "api.port=\(port)", "api.keys_file=\(keysFile)",
      "kafka.bootstrap_servers=\(bed.bootstrapServers)",
    ]
    let api = try ChildProcess(
      [WorkerExecutable.path, "api"] + settings.flatMap { ["--set", $0] },
      output: .file(bed.directory.file("api.log")))
    try await bed.hasPartitions(worker, workerID)
    _ = try await bed.until("the API listens") { LocalPort.isListening(port) ? true : nil }
    let alerts = try AlertStream(port: port, key: key)
    _ = try await bed.until("the dashboard shows a worker, and no alert") {
      alerts.newest?.isEmpty == true ? true : nil
    }
    return DrillStand(bed, worker: worker, api: api, alerts: alerts, probesPort: probesPort)
  }

  private static func makeKey(_ bed: WorkerBed) throws -> (key: String, file: String) {
    let text = try ChildProcess.run([
      WorkerExecutable.path, "api-key", "drill", "--scope", "read-only", "--json",
    ])
    let made = try #require(try JSONValue.parse(Array(text.utf8)).object)
    try bed.directory.writeSecret(try #require(made["line"]?.string) + "\n", to: "api-keys")
    return (try #require(made["key"]?.string), bed.directory.file("api-keys"))
  }

  /// The sum of the worker's series of a family that have all these labels, such as
  /// `cause="redis"`; nil while the worker answers no scrape.
  func metric(_ family: String, _ labels: [String]) -> Double? {
    guard let client = try? RawClient(port: probesPort) else { return nil }
    client.send("GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    guard let text = client.readToEnd(), !text.isEmpty else { return nil }
    let series = text.split(whereSeparator: \.isNewline).filter { line in
      (line.hasPrefix(family + " ") || line.hasPrefix(family + "{"))
        && labels.allSatisfy { line.contains($0) }
    }
    return series.reduce(0) { $0 + ($1.split(separator: " ").last.flatMap { Double($0) } ?? 0) }
  }

  /// The worker finds all of it at once.
  func whileTheWorkerStands(_ body: () async throws -> Void) async throws {
    worker.signal(SIGSTOP)
    defer { worker.signal(SIGCONT) }
    try await body()
  }

  func end() {
    worker.stop(SIGKILL)
    api.stop(SIGKILL)
  }
}
