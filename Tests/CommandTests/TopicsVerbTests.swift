import Checkout
import Kafka
import Processes
import ServerProcesses
import Testing

/// `topics create` as a process, and what makes the API's key in docker/compose.yaml.
@Suite struct TopicsVerbTests {
  @Test func aDryRunConnectsToNothing() throws {
    let said = try Command.run(
      "topics", "create", "--dry-run", "--workers", "16", "--replication-factor", "1", "--set",
      "lanes.count=2", "--set", "kafka.bootstrap_servers=127.0.0.1:1", "--set",
      "kafka.topics.events=live")
    #expect(said.code == 0, "\(said.text)")
    #expect(said.lines.count == 5, "\(said.text)")
    #expect(
      said.lines.first
        == "kafka-topics.sh --bootstrap-server 127.0.0.1:1 --create --if-not-exists --topic live "
        + "--partitions 16 --replication-factor 1 --config cleanup.policy=delete "
        + "--config min.insync.replicas=1 --config retention.ms=518400000")
    #expect(said.lines[1].contains("notify-followers.segments --partitions 32 "))
  }

  @Test func aKafkaThatIsAwayIsTold() throws {
    let said = try Command.run(
      "topics", "create", "--timeout", "300ms", "--set", "kafka.bootstrap_servers=127.0.0.1:1")
    #expect(said.code == 69 && said.text.contains("no broker answers"), "\(said.text)")
  }

  @Test func theEmbeddedBrokerRefuses() throws {
    let directory = try ScratchDirectory()
    let broker = try Command.startServer(
      ["broker", "--topics", "notify-followers:1"], in: directory)
    defer { broker.process.stop() }
    let servers = try #require(broker.ready["bootstrap_servers"]?.string)
    let said = try Command.run(
      "topics", "create", "--set", "kafka.bootstrap_servers=\(servers)")
    #expect(said.code == 1, "\(said.text)")
    #expect(said.text.contains("the embedded broker takes no such request"), "\(said.text)")
  }

  @Test(.enabled(if: RealKafka.home != nil, "FANFARE_KAFKA_HOME names no Apache Kafka"))
  func makesTopicsOnce() throws {
    let kafka = try RealKafka()
    // Waits for a broker that has just begun.
    let options = KafkaOptions(bootstrapServers: kafka.bootstrapServers)
    try kafka.createTopics([("verb.segments", 2)], as: options)
    func create(_ more: String...) throws -> Command.Outcome {
      let process = try Command.start(
        ["topics", "create", "--replication-factor", "1"] + more
          + [
            "kafka.bootstrap_servers=\(kafka.bootstrapServers)", "lanes.count=1",
            "kafka.topics.events=verb", "kafka.topics.segments=verb.segments",
            "kafka.topics.bulk_segments=verb.bulk", "kafka.topics.stragglers=verb.stragglers",
            "kafka.topics.dead_letters=verb.dead",
          ].flatMap { ["--set", $0] })
      let text = process.readToEnd()
      return Command.Outcome(code: process.waitForExit(), text: text)
    }
    let first = try create()
    #expect(first.code == 0, "\(first.text)")
    #expect(first.lines.contains("verb: created, 4 partitions on 1 broker, kept for 6 days"))
    #expect(first.text.contains("  partitions 2, not 16: kafka-topics.sh"), "\(first.text)")
    var again = try create("--json")
    let deadline = ContinuousClock.now + .seconds(60)
    while again.text.contains("created") || !again.text.contains("unchanged"),
      ContinuousClock.now < deadline
    {
      again = try create("--json")
    }
    #expect(again.code == 0, "\(again.text)")
    #expect(again.text.contains(#"{"name":"verb","result":"unchanged","differences":[]}"#))
    #expect(again.text.contains(#""result":"differs""#), "\(again.text)")
  }

  /// What the service `api-key` runs.
  @Test func composeMakesTheKeyOfTheAPIOnce() throws {
    let directory = try ScratchDirectory()
    let lines = try Checkout.text("docker/compose.yaml")
      .split(separator: "\n", omittingEmptySubsequences: false)
      .drop { $0 != "  api-key:" }.drop { $0 != "      - |" }.dropFirst()
      .prefix { $0.hasPrefix("        ") }
    let script = lines.joined(separator: "\n").replacing("/keys", with: directory.path)
    func run() throws -> (key: String, keys: String) {
      _ = try ChildProcess.run([
        "/bin/sh", "-ec", "fanfare() { '\(Command.path)' \"$@\"; }\n\(script)",
      ])
      return (
        try ChildProcess.run(["cat", directory.file("key")]),
        try ChildProcess.run(["cat", directory.file("api-keys")])
      )
    }
    let made = try run()
    #expect(made.key.hasPrefix("ffk_"))
    #expect(made.keys.hasPrefix("dev admin sha256:"))
    let again = try run()
    #expect(again == made)
  }
}
