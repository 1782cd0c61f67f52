import Glibc
import Kafka

/// Makes the topics of a plan that are missing, and looks at those that are there.
package struct TopicCreation: Sendable {
  package enum Result: Sendable, Equatable {
    case created
    /// It was there; what is otherwise than it would be made.
    case existed([TopicDifference])
    /// It was there, and how it is configured is not known, in words.
    case unknown(String)
    case failed(KafkaError)
  }

  private let admin: KafkaAdmin
  private let plan: TopicPlan

  package init(_ admin: KafkaAdmin, _ plan: TopicPlan) {
    self.admin = admin
    self.plan = plan
  }

  /// Called again it changes nothing. Blocks for at most `timeout` a question, of which there are
  /// three. Where others make topics at the same time, it then asks again each 100 ms until
  /// `timeout`.
  package func run(timeout: Duration) throws(KafkaError) -> [(topic: KafkaTopic, Result)] {
    let names = plan.topics.map(\.name)
    var known = try admin.metadata(topics: names, timeout: timeout)
    let missing = plan.topics.filter {
      known.partitions[$0.name] == nil && known.failures[$0.name] == nil
    }
    var made: [String: KafkaTopicCreation] = [:]
    if !missing.isEmpty {
      for (name, creation) in try admin.create(missing, timeout: timeout) { made[name] = creation }
    }
    // A topic that somebody else has just made is told of a moment later.
    let others = names.filter { if case .existed = made[$0] { true } else { false } }
    let question = RepeatedQuestion(now: { .now }, pause: { usleep(UInt32($0 / .microseconds(1))) })
    known = try question.ask(
      after: known, within: timeout,
      isEnough: { answer in others.allSatisfy { answer.partitions[$0] != nil } }
    ) { () throws(KafkaError) in try admin.metadata(topics: names, timeout: timeout) }
    let there = names.filter { known.partitions[$0] != nil && !isNew($0, made) }
    let (configured, failures) = try configuration(of: there, timeout)
    return plan.topics.map { topic in
      switch made[topic.name] {
      case .created: return (topic, .created)
      case .failed(let error): return (topic, .failed(error))
      case .existed, nil: break
      }
      guard known.partitions[topic.name] != nil || known.failures[topic.name] != nil else {
        return (topic, .unknown("others make it at this moment: run this again"))
      }
      if let error = known.failures[topic.name] { return (topic, .failed(error)) }
      if let error = failures[topic.name] { return (topic, .unknown("\(error)")) }
      return (
        topic,
        .existed(
          TopicDifference.all(
            of: topic, isWork: plan.work.contains(topic.name),
            partitions: known.partitions[topic.name] ?? 0,
            replicas: known.replicas[topic.name] ?? 0,
            configuration: configured[topic.name] ?? [:]))
      )
    }
  }

  private func isNew(_ name: String, _ made: [String: KafkaTopicCreation]) -> Bool {
    if case .created = made[name] { true } else { false }
  }

  /// Returns the configuration of the topics, as far as it is told. A user who may create topics
  /// need not be allowed to look at it, and not every broker tells it.
  private func configuration(
    of names: [String], _ timeout: Duration
  ) throws(KafkaError) -> (known: [String: [String: String]], failures: [String: KafkaError]) {
    do throws(KafkaError) {
      return try admin.configuration(ofTopics: names, timeout: timeout)
    } catch {
      guard error.code == .authorization || error.code == .unsupported else { throw error }
      return ([:], Dictionary(uniqueKeysWithValues: names.map { ($0, error) }))
    }
  }
}

/// A question to Kafka that is asked again until its answer is enough.
struct RepeatedQuestion {
  static let interval: Duration = .milliseconds(100)

  let now: () -> ContinuousClock.Instant
  let pause: (Duration) -> Void

  func ask<Answer>(
    after first: Answer, within timeout: Duration, isEnough: (Answer) -> Bool,
    _ body: () throws(KafkaError) -> Answer
  ) throws(KafkaError) -> Answer {
    let deadline = now() + timeout
    var answer = first
    while !isEnough(answer), now() < deadline {
      pause(Self.interval)
      answer = try body()
    }
    return answer
  }
}
