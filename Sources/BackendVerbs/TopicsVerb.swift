import Assembly
import Kafka
import Terminal
import Topics
import VerbSupport

/// `topics create`: Kafka's topics, as the settings want them.
package enum TopicsVerb {
  private static let workers = Option(
    "workers", .integer(in: 1...1000), default: 4, value: "N",
    help: "The largest number of workers planned; each needs a partition of every topic")
  private static let replicas = Option(
    "replication-factor", .integer(in: 1...100), default: 3, value: "N",
    help: "How many brokers keep each record; use 1 with a single broker")
  private static let dryRun = Option(
    flag: "dry-run", help: "Print the commands for Kafka's own tool, and do not connect")
  private static let timeout = Option(
    "timeout", .duration(in: .milliseconds(100) ... .seconds(300)), default: .seconds(30),
    help: "The time limit for each answer of Kafka")
  private static let json = Option(flag: "json", help: "Print one JSON object")

  package static let verb = Verb(
    group: "topics", summary: "Create the Kafka topics that Fanfare reads and writes",
    options: ConfigurationOptions.all, verbs: [create])

  private static let create = Verb(
    "create", summary: "Create the missing Kafka topics, and report how existing ones differ",
    discussion: """
      The names come from kafka.topics. The topics of kafka.topics.tokens and \
      kafka.topics.outcomes are created only if those are set. The topics of segments get a \
      partition for each lane of all workers (at least 16), and those of events and stragglers \
      get one for each worker. Kafka keeps the records that \
      workers read for one day longer than an event may live (events.maximum_expires_in), but at \
      most 6 days, because Redis remembers finished work for 7 days. It keeps dead letters for 14 \
      days, and news of tokens and outcomes for 7.

      A topic that exists is not changed. The command reports each difference, with the command \
      that corrects it. You can run it again at any time.
      """,
    options: [workers, replicas, dryRun, timeout, json],
    examples: [
      .init("fanfare topics create", "Create topics on three brokers or more"),
      .init(
        "fanfare topics create --replication-factor 1",
        "Create topics on a single broker, for development"),
      .init(
        "fanfare topics create --workers 16 --dry-run",
        "Print the commands for Kafka's administrator"),
    ], exitCodes: [.ok, .failed, .unavailable, .config]
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let settings = try invocation.loadSettings()
    let plan = TopicPlan(
      Assembly.ingestOptions(settings), workers: invocation[workers],
      lanes: Assembly.lanes(settings),
      replicas: invocation[replicas])
    let commands = TopicCommands(bootstrapServers: settings.kafka.bootstrapServers)
    if invocation[dryRun] {
      for topic in plan.topics { invocation.output.line(commands.create(topic)) }
      return .ok
    }
    let results: [(topic: KafkaTopic, TopicCreation.Result)]
    do throws(KafkaError) {
      let admin = KafkaAdmin(Assembly.kafkaOptions(settings), log: { _ in })
      results = try TopicCreation(admin, plan).run(timeout: invocation[timeout])
    } catch {
      throw CommandFailure(code(of: error), "\(error)")
    }
    if invocation[json] {
      let topics = results.map { json(of: $0.topic, $0.1, commands) }
      invocation.output.line(JSONOutput.object(["topics": .array(topics)]).serialized())
    } else {
      for (topic, result) in results { tell(topic, result, commands, invocation.output) }
    }
    for case .failed(let error) in results.map(\.1) { return code(of: error) }
    return .ok
  }

  private static func code(of error: KafkaError) -> ExitCode {
    switch error.code {
    case .configuration, .authentication, .authorization: .config
    case .unreachable, .timedOut: .unavailable
    default: .failed
    }
  }

  private static func words(_ topic: KafkaTopic) -> String {
    func count(_ number: Int, _ what: String) -> String {
      "\(number) \(what)\(number == 1 ? "" : "s")"
    }
    let days = (topic.configuration["retention.ms"].flatMap { Int($0) } ?? 0) / 86_400_000
    return count(topic.partitions, "partition") + " on " + count(topic.replicas, "broker")
      + ", kept for " + count(days, "day")
  }

  private static func tell(
    _ topic: KafkaTopic, _ result: TopicCreation.Result, _ commands: TopicCommands,
    _ console: Console
  ) {
    switch result {
    case .created: console.line("\(topic.name): created, \(words(topic))")
    case .existed(let differences):
      guard !differences.isEmpty else {
        console.line("\(topic.name): exists")
        return
      }
      console.line("\(topic.name): exists, with other settings")
      for difference in differences {
        console.line(
          "  \(difference.name) \(TextLayout.printable(difference.found)), not "
            + "\(difference.wanted): \(commands.mend(difference, of: topic.name))")
      }
    case .unknown(let why):
      console.line(
        "\(topic.name): exists; its settings are not known: \(TextLayout.printable(why))")
    case .failed(let error):
      console.line("\(topic.name): \(TextLayout.printable("\(error)"))")
    }
  }

  private static func json(
    of topic: KafkaTopic, _ result: TopicCreation.Result, _ commands: TopicCommands
  ) -> JSONOutput {
    var object: JSONObject = ["name": .text(topic.name)]
    switch result {
    case .created: object["result"] = .text("created")
    case .existed(let differences):
      object["result"] = .text(differences.isEmpty ? "unchanged" : "differs")
      object["differences"] = .array(
        differences.map {
          [
            "name": .text($0.name), "found": .text($0.found), "wanted": .text($0.wanted),
            "command": .text(commands.mend($0, of: topic.name)),
          ]
        })
    case .unknown(let why):
      object["result"] = .text("unknown")
      object["reason"] = .text(why)
    case .failed(let error):
      object["result"] = .text("failed")
      object["reason"] = .text("\(error)")
    }
    return .object(object)
  }
}
