import Checkout
import Glibc
import JSON
import Kafka
import Processes
import ServerProcesses
import TestBed
import Testing

/// The API asked by a stranger who has read its description and nothing else: schemathesis makes
/// some thousands of requests of it, right ones and wrong ones, and finds what is answered
/// otherwise than described.
@Suite struct SchemathesisTests {
  /// It takes two minutes on a machine at rest, and shares the cores with other tests.
  private static let seconds = 600
  private static let script = Checkout.path("Tests/ForeignServers/schemathesis")

  @Test(arguments: [1]) func everyAnswerIsAsDescribed(seed: Int) throws {
    let directory = try ScratchDirectory()
    let redis = try RedisServerProcess()
    let broker = try EmbeddedBroker(topics: [
      (name: "notify-followers", partitions: 2),
      (name: "notify-followers.dead-letters", partitions: 1),
    ])
    let made = try JSONValue.parse(
      Array(
        ChildProcess.run([
          WorkerExecutable.path, "api-key", "stranger", "--scope", "admin", "--json",
        ]).utf8))
    let key = try #require(made.object?["key"]?.string)
    let line = try #require(made.object?["line"]?.string)
    let keys = directory.file("keys")
    try write(line + "\n", to: keys)
    let port = try LocalPort.findFree()
    let log = directory.file("api.log")
    let settings = [
      "redis.port=\(redis.port)", "kafka.bootstrap_servers=\(broker.bootstrapServers)",
      "api.port=\(port)", "api.keys_file=\(keys)", "api.audit=false", "probes.port=0",
    ]
    let api = try ChildProcess(
      [WorkerExecutable.path, "api"] + settings.flatMap { ["--set", $0] }, output: .file(log))
    let run = try ChildProcess(
      ["timeout", "\(Self.seconds)", Self.script, "http://127.0.0.1:\(port)", key, "\(seed)"],
      output: .pipe)
    let said = run.readToEnd()
    #expect(run.waitForExit() == 0, "\(said)")
    #expect(api.isRunning)
    #expect(api.stop() == 0)
    if let summary = said.split(separator: "\n").last(where: { $0.contains("test cases") }) {
      EnduranceBed.report("schemathesis: \(summary)")
    }
  }

  private func write(_ text: String, to path: String) throws {
    let file = try #require(fopen(path, "w"))
    defer { fclose(file) }
    try #require(fputs(text, file) >= 0)
  }
}
