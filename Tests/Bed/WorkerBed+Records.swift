import Kafka

extension WorkerBed {
  /// How many records were ever written to a topic.
  package func records(of topic: String) throws -> Int {
    let options = KafkaOptions(bootstrapServers: bootstrapServers)
    let ends = try KafkaAdmin(options, log: { _ in }).ends(of: topic, timeout: .seconds(10))
    return ends.values.reduce(0) { $0 + Int($1) }
  }
}
