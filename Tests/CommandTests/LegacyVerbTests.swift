import JSON
import Processes
import ServerProcesses
import Testing

/// What verbs say of the legacy binary interface, among real processes.
@Suite struct LegacyVerbTests {
  @Test func feedbackIsReadAndCounted() throws {
    let directory = try ScratchDirectory()
    let redis = try RedisServerProcess()
    let simulator = try Command.startServer(
      [
        "simulator", "--directory", directory.file("apns"), "--binary-port", "0",
        "--feedback-port", "0",
      ], in: directory)
    defer { simulator.process.stop() }
    #expect(simulator.ready["binary_port"]?.integer != nil)
    let port = try #require(simulator.ready["feedback_port"]?.integer)
    func pull(_ more: String...) throws -> Command.Outcome {
      let process = try Command.start(
        [
          "feedback", "pull", "--host", "127.0.0.1", "--set", "redis.port=\(redis.port)",
          "--set", "apns.ca_file=\(directory.file("apns/ca.pem"))",
        ] + more)
      let text = process.readToEnd()
      return Command.Outcome(code: process.waitForExit(), text: text)
    }
    let told = try pull("--port", "\(port)", "--json", "--dry-run")
    #expect(told.code == 0, "\(told.text)")
    let summary = try #require(try JSONValue.parse(Array(told.lines[0].utf8)).object)
    #expect(summary["dry_run"]?.bool == true && summary["told"]?.integer == 0)
    let text = try pull("--port", "\(port)")
    #expect(text.code == 0 && text.text.contains("pruned"), "\(text.text)")
    // Nobody listens there, and what speaks HTTP/2 tells no token.
    let unreachable = try pull("--port", "1")
    #expect(unreachable.code == 69 && unreachable.text.contains("cannot be reached"))
    let other = try #require(simulator.ready["port"]?.integer)
    #expect(try pull("--port", "\(other)").code == 69)
  }

  @Test func checkSaysThatTheInterfaceIsLegacy() throws {
    let directory = try ScratchDirectory()
    let simulator = try Command.startServer(
      ["simulator", "--directory", directory.file("apns"), "--binary-port", "0"], in: directory)
    defer { simulator.process.stop() }
    let port = try #require(simulator.ready["port"]?.integer)
    let binary = try #require(simulator.ready["binary_port"]?.integer)
    let settings = [
      "apns.production.host=127.0.0.1", "apns.production.port=\(binary)",
      "apns.production.interface=binary", "apns.sandbox.host=127.0.0.1",
      "apns.sandbox.port=\(port)", "apns.ca_file=\(directory.file("apns/ca.pem"))",
      "apns.key_id=SIMULATED1", "apns.team_id=SIMULATED2",
      "apns.key_file=\(directory.file("apns/AuthKey_SIMULATED1.p8"))", "redis.port=1",
      "kafka.bootstrap_servers=127.0.0.1:1",
    ]
    let process = try Command.start(
      ["check", "--timeout", "5s"] + settings.flatMap { ["--set", $0] })
    let text = process.readToEnd()
    _ = process.waitForExit()
    let line = try #require(text.split(separator: "\n").first { $0.contains("retired") })
    #expect(line.contains("production, 127.0.0.1:\(binary): the legacy binary interface"))
    #expect(text.contains("production, 127.0.0.1:\(binary): TLS in"), "\(text)")
    #expect(text.contains("sandbox, 127.0.0.1:\(port): TLS and HTTP/2 in"))
    #expect(text.count(of: "legacy binary interface") == 1)
  }
}

extension String {
  fileprivate func count(of words: String) -> Int { ranges(of: words).count }
}
