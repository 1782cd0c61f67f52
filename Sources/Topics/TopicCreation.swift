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
  /// three.
  package func run(timeout: Duration) throws(KafkaError) -> [(topic: KafkaTopic, Result)] {
    let names = plan.topics.map(\.name)
    let before = try admin.metadata(topics: names, timeout: timeout)
    let missing = plan.topics.filter {
      before.partitions[$0.name] == nil && before.failures[$0.name] == nil
    }
    var made: [String: KafkaTopicCreation] = [:]
    if !missing.isEmpty {
      for (name, creation) in try admin.create(missing, timeout: timeout) { made[name] = creation }
    }
    let there = names.filter { before.partitions[$0] != nil }
    let (known, failures) = try configuration(of: there, timeout)
    return plan.topics.map { topic in
      switch made[topic.name] {
      case .created: return (topic, .created)
      case .failed(let error): return (topic, .failed(error))
      // Somebody was quicker, and this runs again as well.
      case .existed: return (topic, .existed([]))
      case nil: break
      }
      if let error = before.failures[topic.name] { return (topic, .failed(error)) }
      if let error = failures[topic.name] { return (topic, .unknown("\(error)")) }
      return (
        topic,
        .existed(
          TopicDifference.all(
            of: topic, isWork: plan.work.contains(topic.name),
            partitions: before.partitions[topic.name] ?? 0,
            replicas: before.replicas[topic.name] ?? 0, configuration: known[topic.name] ?? [:]))
      )
    }
  }

  /// Whoever may create topics need not be allowed to look at what they are like.
  private func configuration(
    of names: [String], _ timeout: Duration
  ) throws(KafkaError) -> (known: [String: [String: String]], failures: [String: KafkaError]) {
    do throws(KafkaError) {
      return try admin.configuration(ofTopics: names, timeout: timeout)
    } catch {
      guard error.code == .authorization else { throw error }
      return ([:], Dictionary(uniqueKeysWithValues: names.map { ($0, error) }))
    }
  }
}
