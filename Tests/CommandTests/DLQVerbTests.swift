import Ingest
import JSON
import Kafka
import Processes
import ServerProcesses
import Testing

/// `dlq` as a process, against the embedded broker and a real redis-server.
@Suite struct DLQVerbTests {
  private static let name = "notify-followers.dead-letters"
  private static let events = "notify-followers"
  private let redis: RedisServerProcess
  private let broker: EmbeddedBroker
  private let directory: ScratchDirectory

  init() throws {
    redis = try RedisServerProcess()
    broker = try EmbeddedBroker(topics: [(Self.events, 1), (Self.name, 1)])
    directory = try ScratchDirectory()
  }

  /// Expires in a year that these tests do not see.
  private static let event =
    #"{"id":"e1","app":"com.example.live","streamer":{"id":"s1"},"stream":{"id":"b"},"#
    + #""occurred_at":"2026-01-01T00:00:00Z"}"#

  private func write(
    _ values: [String], topic: String = events, code: IngestError.Code = .unprocessable,
    reason: String = "Redis"
  ) async throws {
    let producer = try KafkaProducer(
      KafkaOptions(bootstrapServers: broker.bootstrapServers)
    ) { _ in }
    defer { producer.close(timeout: .seconds(1)) }
    for value in values {
      let record = KafkaMessage(
        topic: topic, partition: 0, offset: 0, key: Array("s1".utf8), value: Array(value.utf8))
      let letter = DeadLetter(
        record, error: IngestError(code, reason), worker: "w", time: "2026-11-21T08:00:00.000Z")
      _ = try await producer.send(
        topic: Self.name, key: letter.key, value: letter.value, headers: letter.headers)
    }
  }

  private func dlq(_ arguments: String...) throws -> (code: Int32, text: String) {
    let process = try Command.start(
      ["dlq"] + arguments + [
        "--set", "redis.port=\(redis.port)", "--set",
        "kafka.bootstrap_servers=\(broker.bootstrapServers)",
      ])
    let text = process.readToEnd()
    return (process.waitForExit(), text)
  }

  @Test func lettersAreListedAndShown() async throws {
    #expect(try dlq("list").text.contains("Kafka keeps no dead letters"))
    try await write(["{"], code: .notJSON, reason: "line 1\u{1B}[31m")
    try await write([Self.event])
    let list = try dlq("list")
    #expect(list.code == 0 && list.text.contains("2 of all 2 letters"), "\(list.text)")
    #expect(list.text.contains("0:0") && list.text.contains("not_json"))
    #expect(!list.text.contains("\u{1B}"), "what a letter says moves no cursor")
    let some = try dlq("list", "--event", "e1", "--json").text
    let object = try JSONValue.parse(Array(some.utf8)).object
    #expect(object?["matched"] == 1 && object?["scanned"] == 2, "\(some)")
    let shown = try dlq("show", "0:1")
    #expect(shown.code == 0 && shown.text.contains("not possible: its event expired"))
    #expect(shown.text.contains(Self.event) && shown.text.contains("fanfare-source"))
    #expect(try dlq("show", "0:1", "--raw").text == Self.event)
    #expect(try dlq("show", "0:7").code == 1)
    #expect(try dlq("show", "7").code == 64)
    #expect(try dlq("list", "--since", "never").code == 64)
  }

  @Test func nothingIsDoneToAllLetters() async throws {
    try await write([Self.event])
    for act in ["replay", "drop"] {
      for arguments in [[act], [act, "--state", "new"], [act, "0:0", "--code", "not_json"]] {
        let process = try Command.start(["dlq"] + arguments)
        let text = process.readToEnd()
        #expect(process.waitForExit() == 64, "\(arguments): \(text)")
      }
    }
  }

  @Test func whatIsDroppedIsNotShown() async throws {
    try await write([Self.event, Self.event])
    let dry = try dlq("drop", "0:0", "--dry-run")
    #expect(dry.code == 0 && dry.text.contains("nothing was written"), "\(dry.text)")
    #expect(try dlq("list").text.contains("2 of all 2"))
    let dropped = try dlq("drop", "0:0", "--json")
    #expect(dropped.code == 0 && dropped.text.contains(#""dropped":1"#), "\(dropped.text)")
    #expect(try dlq("list").text.contains("1 of all 2"))
    #expect(try dlq("list", "--all").text.contains("2 of all 2"))
    let again = try dlq("drop", "--code", "unprocessable", "--all", "--json")
    #expect(again.text.contains(#""already":1"#) && again.text.contains(#""dropped":1"#))
  }

  @Test func theNumberOfManyIsTyped() async throws {
    try await write((0..<1_001).map { _ in "{" }, code: .notJSON)
    let output = directory.file("out")
    let process = try ChildProcess(
      [
        "/bin/sh", "-c",
        "echo 7 | \(Command.path) dlq drop --code not_json"
          + " --set redis.port=\(redis.port)"
          + " --set kafka.bootstrap_servers=\(broker.bootstrapServers)",
      ], output: .file(output))
    #expect(process.waitForExit() == 1)
    #expect(try dlq("list").text.contains("1001 of all 1001"))
    let confirmed = try dlq("drop", "--code", "not_json", "--yes")
    #expect(confirmed.code == 0 && confirmed.text.contains("1,001"), "\(confirmed.text)")
    #expect(try dlq("list").text.contains("0 of all 1001"))
  }

  @Test func aCorrectedCopyIsSentWithItsDifference() async throws {
    try await write(["{\"id\":\n7}"], code: .badIdentifier)
    let file = directory.file("event.json")
    try directory.write(Self.event, to: "event.json")
    let refused = try dlq("replay", "0:0", "--file", file)
    #expect(refused.code == 1 && refused.text.contains("its event expired"), "\(refused.text)")
    let now = try ChildProcess.run(["date", "-u", "+%Y-%m-%dT%H:%M:%SZ"]).dropLast()
    try directory.write(
      Self.event.replacing("2026-01-01T00:00:00Z", with: now), to: "event.json")
    let sent = try dlq("replay", "0:0", "--file", file)
    #expect(sent.code == 0 && sent.text.contains("-7}") && sent.text.contains("0:0 is replayed"))
    let again = try dlq("replay", "0:0", "--file", file)
    #expect(again.code == 1 && again.text.contains("--again"), "\(again.text)")
    let options = KafkaOptions(bootstrapServers: broker.bootstrapServers)
    let ends = try KafkaAdmin(options, log: { _ in }).ends(of: Self.events, timeout: .seconds(30))
    #expect(ends == [0: 1])
  }
}
