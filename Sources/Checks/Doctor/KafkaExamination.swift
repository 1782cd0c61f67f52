import Assembly
import Kafka
import Settings
import Terminal
import Text

/// The questions of `fanfare doctor` to Kafka beyond those of `fanfare check`: how topics are made,
/// and how the group is.
struct KafkaExamination: Sendable {
  /// One may be away, and each record is on two others.
  private static let wantedBrokers = 3

  private let settings: Settings
  private let process: CheckedProcess
  /// Of a worker with this configuration.
  private let lanes: Int

  init(_ settings: Settings, for process: CheckedProcess) {
    self.settings = settings
    self.process = process
    lanes = Assembly.lanes(settings)
  }

  /// Blocks for at most `timeout` a question, of which there are three.
  func run(
    _ admin: KafkaAdmin, _ information: KafkaClusterInfo, timeout: Duration,
    _ list: inout CheckList
  ) {
    brokers(information.brokers.count, &list)
    topics(admin, information, timeout, &list)
    guard process == .worker else { return }
    let members = group(admin, timeout, &list)
    partitions(information, members: members ?? 1, &list)
    lag(admin, information, members: members, timeout, &list)
  }

  func brokers(_ count: Int, _ list: inout CheckList) {
    let words = "\(Self.count(count, "broker")), and \(Self.wantedBrokers) are wanted"
    if count < Self.wantedBrokers {
      list.warning(
        "kafka.brokers", .dependency,
        "\(words): while one is away, its partitions are neither read nor written",
        hint: "three brokers, and three replicas of each topic, survive the loss of one")
    } else {
      list.ok("kafka.brokers", words)
    }
  }

  // MARK: topics

  private func topics(
    _ admin: KafkaAdmin, _ information: KafkaClusterInfo, _ timeout: Duration,
    _ list: inout CheckList
  ) {
    // Those that are missing, too: perhaps our user may not see them.
    let names = KafkaChecks.topics(of: process, settings)
    guard !names.isEmpty else { return }
    do {
      let (known, failures) = try admin.configuration(ofTopics: names, timeout: timeout)
      for name in names {
        if let failure = failures[name] {
          guard failure.code != .unknownTopic else { continue }
          rights(failure, "DescribeConfigs on the topic \(name)", name, &list)
        } else if let configuration = known[name], information.partitions[name] != nil {
          check(
            name, replicas: information.replicas[name] ?? 0, brokers: information.brokers.count,
            configuration, &list)
          size(name, configuration, known, &list)
        }
      }
    } catch  where error.code == .unsupported {
      list.skipped("kafka.replication", "the embedded broker does not tell how topics are made")
    } catch {
      rights(error, "DescribeConfigs on the topics", nil, &list)
    }
  }

  /// - Parameters:
  ///   - replicas: brokers that have each record.
  ///   - configuration: of the topic, by Kafka's own names.
  func check(
    _ topic: String, replicas: Int, brokers: Int, _ configuration: [String: String],
    _ list: inout CheckList
  ) {
    let wanted = min(Self.wantedBrokers, brokers)
    let words = "\(topic): \(Self.count(replicas, "replica")) on \(Self.count(brokers, "broker"))"
    if replicas < wanted {
      list.warning(
        "kafka.replication", .dependency,
        "\(words), and \(wanted) are wanted: records are lost with the disk of one broker",
        of: topic,
        hint: "kafka-reassign-partitions.sh gives it more; fanfare topics create says how many")
    } else {
      list.ok("kafka.replication", words, of: topic)
    }
    retention(topic, configuration, &list)
    if let inSync = configuration["min.insync.replicas"].flatMap({ Int($0) }) {
      self.inSync(inSync, topic, replicas, &list)
    }
    if configuration["unclean.leader.election.enable"] == "true" {
      list.warning(
        "kafka.unclean_election", .dependency,
        "\(topic) lets a broker lead that lacks records (unclean.leader.election.enable)",
        of: topic, hint: Self.alter(topic, "unclean.leader.election.enable=false"))
    }
  }

  /// `TopicPolicyChecks` has said what is wrong.
  private func retention(
    _ topic: String, _ configuration: [String: String], _ list: inout CheckList
  ) {
    let policy = TopicPolicy(configuration)
    var found = CheckList(deniesWarnings: false)
    TopicPolicyChecks(settings).check(topic, policy, &found)
    guard found.items.isEmpty, topic != settings.kafka.topics.tokens else { return }
    let time = policy.retention.map { "for \(DurationText.text($0))" } ?? "for ever"
    list.ok("kafka.retention", "\(topic) keeps records \(time)", of: topic)
  }

  private func inSync(
    _ inSync: Int, _ topic: String, _ replicas: Int, _ list: inout CheckList
  ) {
    let id = "kafka.min_insync_replicas"
    let words = "\(topic): min.insync.replicas is \(inSync) of \(Self.count(replicas, "replica"))"
    if inSync > replicas {
      list.problem(
        id, .dependency, "\(words): no record can be written", of: topic,
        hint: Self.alter(topic, "min.insync.replicas=\(max(1, replicas - 1))"))
    } else if inSync == replicas, replicas > 1 {
      list.warning(
        id, .dependency, "\(words): while one broker is away nothing can be written", of: topic,
        hint: Self.alter(topic, "min.insync.replicas=\(replicas - 1)"))
    } else if replicas > 2, inSync < 2 {
      list.warning(
        id, .dependency, "\(words): a record that was acknowledged can be lost with one broker",
        of: topic, hint: Self.alter(topic, "min.insync.replicas=2"))
    } else {
      list.ok(id, words, of: topic)
    }
  }

  /// The bytes that a record needs beside the event or the record in it.
  private static let overhead = 16 << 10

  /// A segment's record contains its event, and a dead letter any record of the other topics.
  /// - Parameter known: of all topics, by name.
  func size(
    _ topic: String, _ configuration: [String: String], _ known: [String: [String: String]],
    _ list: inout CheckList
  ) {
    func limit(_ entries: [String: String]?) -> Int? {
      entries?["max.message.bytes"].flatMap { Int($0) }
    }
    guard let found = limit(configuration) else { return }
    let topics = settings.kafka.topics
    let event = settings.kafka.maximumEventBytes + Self.overhead
    // Kafka counts a batch with its own header; the topics' usual limit is that of all of them.
    let dead =
      [topics.events, topics.segments, topics.bulkSegments, topics.stragglers]
      .compactMap { limit(known[$0]) }.max() ?? 0
    let needed = topic == topics.deadLetters ? max(event, dead) : event
    let words =
      "\(topic) takes records of \(Figures.bytes(found)) (max.message.bytes), and at least "
      + "\(Figures.bytes(needed)) are wanted"
    if found < needed {
      list.problem(
        "kafka.max_message_bytes", .dependency,
        words + (topic == topics.deadLetters ? " for the records of other topics" : ""), of: topic,
        hint: Self.alter(topic, "max.message.bytes=\(needed)"))
    } else {
      list.ok("kafka.max_message_bytes", words, of: topic)
    }
  }

  // MARK: the group

  /// How many members there are; nil: that is not known.
  private func group(
    _ admin: KafkaAdmin, _ timeout: Duration, _ list: inout CheckList
  ) -> Int? {
    do {
      let group = try admin.group(timeout: timeout)
      judge(group, &list)
      return group.members.count
    } catch  where error.code == .unsupported {
      list.skipped("kafka.group", "the embedded broker does not tell who is in a group")
    } catch {
      rights(error, "Read on the group \(settings.kafka.group)", settings.kafka.group, &list)
    }
    return nil
  }

  func judge(_ group: KafkaGroup, _ list: inout CheckList) {
    let name = "group \(settings.kafka.group)"
    switch group.state {
    case "Stable":
      list.ok("kafka.group", "\(name): \(Self.count(group.members.count, "member")), at work")
    case "Empty", "Dead":
      list.skipped("kafka.group", "\(name) has no member: no worker runs")
    default:
      list.warning(
        "kafka.group", .dependency,
        "\(name): \(Self.count(group.members.count, "member")), \(group.state): its partitions are "
          + "being shared out",
        hint: "look again in a minute; if it is still so, a worker keeps leaving: see its log")
    }
  }

  /// - Parameter members: workers of the group; this one alone where they are not known.
  func partitions(
    _ information: KafkaClusterInfo, members: Int, _ list: inout CheckList
  ) {
    let topics = settings.kafka.topics
    let workers = max(1, members)
    let shared = Self.count(workers, "worker") + " with " + Self.count(lanes, "lane") + " each"
    for (topic, needed, who) in [
      (topics.segments, workers * lanes, shared), (topics.bulkSegments, workers * lanes, shared),
      (topics.events, workers, Self.count(workers, "worker")),
      (topics.stragglers, workers, Self.count(workers, "worker")),
    ] {
      guard let found = information.partitions[topic], found < needed else { continue }
      list.warning(
        "kafka.partitions", .dependency,
        "\(topic) has \(Self.count(found, "partition")) for \(who): \(needed) are wanted, or some "
          + "of them get none", of: topic,
        hint: "kafka-topics.sh --alter --topic \(topic) --partitions \(needed)")
    }
  }

  private func lag(
    _ admin: KafkaAdmin, _ information: KafkaClusterInfo, members: Int?, _ timeout: Duration,
    _ list: inout CheckList
  ) {
    let topics = settings.kafka.topics
    let read = [topics.events, topics.segments, topics.bulkSegments, topics.stragglers]
    let partitions = information.partitions.filter { read.contains($0.key) }
    guard !partitions.isEmpty else { return }
    do {
      let lag = try admin.lag(of: partitions, timeout: timeout)
      for topic in read { if let lag = lag[topic] { judge(lag, topic, members, &list) } }
    } catch  where error.code == .timedOut {
      // To a user without a right on the group Kafka names no coordinator, and librdkafka asks on.
      list.warning(
        "kafka.rights", .dependency,
        "Kafka does not say what of the group \(settings.kafka.group) is done: our user may lack "
          + "the right Read on it", of: settings.kafka.group, hint: Self.rightsHint)
    } catch {
      rights(error, "Read on the group \(settings.kafka.group) and its topics", nil, &list)
    }
  }

  /// - Parameter lag: records of the topic that are not done.
  func judge(_ lag: Int64, _ topic: String, _ members: Int?, _ list: inout CheckList) {
    let records = "\(Figures.grouped(Int(clamping: lag))) \(lag == 1 ? "record" : "records")"
    let words = "\(topic): \(records) not done yet"
    if lag > 0, members == 0 {
      list.warning(
        "kafka.lag", .dependency, "\(words), and no worker runs", of: topic,
        hint: "start one: events expire while they wait")
    } else {
      list.ok("kafka.lag", words, of: topic)
    }
  }

  // MARK: words

  /// A refusal of Kafka's is a right that is missing; any other error leaves a question open.
  private func rights(
    _ error: KafkaError, _ right: String, _ subject: String?, _ list: inout CheckList
  ) {
    guard error.code == .authorization else {
      return list.warning(
        "kafka.questions", .dependency, "a question has no answer: \(error)", of: subject)
    }
    list.warning(
      "kafka.rights", .dependency, "our user lacks the right \(right): \(error.cause)", of: subject,
      hint: Self.rightsHint)
  }

  private static let rightsHint =
    "docs/operations.md, \"What Kafka must allow\", has the commands"

  private static func alter(_ topic: String, _ property: String) -> String {
    "kafka-configs.sh --alter --entity-type topics --entity-name \(topic) --add-config \(property)"
  }

  private static func count(_ number: Int, _ what: String) -> String {
    "\(number) \(what)\(number == 1 ? "" : "s")"
  }
}
