import CRdKafka

/// librdkafka's mock cluster: one broker on a free port of the loopback interface that serves
/// this and other processes until it is closed. For the demo and for tests, not for data that
/// matters: it keeps everything in memory, and of a partition only the last 5 MiB or 100,000
/// batches.
///
/// It coordinates consumer groups, acknowledges idempotent producers and creates topics with four
/// partitions when somebody first asks for them; it cannot do admin requests, TLS, SASL or
/// compaction.
///
/// `@unchecked Sendable`: librdkafka guards the mock cluster with a lock of its own; the handles
/// are immutable and freed in `deinit` only.
package final class EmbeddedBroker: @unchecked Sendable {
  private let client: OpaquePointer
  private let cluster: OpaquePointer
  /// The mock cluster's log lines are dropped.
  private let state = CallbackState { _ in }
  /// `127.0.0.1:port`
  package let bootstrapServers: String

  package init(topics: [(name: String, partitions: Int)]) throws(KafkaError) {
    let configuration = try KafkaConfiguration(KafkaOptions(bootstrapServers: ""))
    client = try configuration.makeClient(RD_KAFKA_PRODUCER, state)
    guard let cluster = rd_kafka_mock_cluster_new(client, 1) else {
      rd_kafka_destroy(client)
      state.release()
      throw KafkaError(
        code: .other,
        message: "the embedded broker cannot be started; is a port free on 127.0.0.1?")
    }
    self.cluster = cluster
    bootstrapServers = String(cString: rd_kafka_mock_cluster_bootstraps(cluster))
    for topic in topics { try create(topic: topic.name, partitions: topic.partitions) }
  }

  deinit {
    rd_kafka_mock_cluster_destroy(cluster)
    rd_kafka_destroy(client)
    state.release()
  }

  package func create(topic: String, partitions: Int) throws(KafkaError) {
    let error = rd_kafka_mock_topic_create(cluster, topic, Int32(clamping: partitions), 1)
    guard error != RD_KAFKA_RESP_ERR_NO_ERROR else { return }
    throw KafkaError(error, doing: "creating the topic \(topic)")
  }
}

// MARK: - Misbehaviour, for tests

extension EmbeddedBroker {
  /// Kinds of requests that can be made to fail (numbers of Kafka's protocol).
  package enum Request: Int16, Sendable {
    case produce = 0
    case offsetCommit = 8
    case heartbeat = 12
  }

  package enum Failure: Sendable {
    case disconnect, coordinatorNotAvailable, illegalGeneration, rebalanceInProgress
    case messageTooLarge, topicAuthorizationFailed, unknownTopic, notLeader

    fileprivate var code: rd_kafka_resp_err_t {
      switch self {
      case .disconnect: RD_KAFKA_RESP_ERR__TRANSPORT
      case .coordinatorNotAvailable: RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE
      case .illegalGeneration: RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION
      case .rebalanceInProgress: RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS
      case .messageTooLarge: RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE
      case .topicAuthorizationFailed: RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED
      case .unknownTopic: RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART
      case .notLeader: RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION
      }
    }
  }

  /// The next requests of this kind fail, one after the other.
  package func fail(next request: Request, with failures: [Failure]) {
    let codes = failures.map(\.code)
    rd_kafka_mock_push_request_errors_array(cluster, request.rawValue, codes.count, codes)
  }

  /// While it is down it answers nobody and accepts no connection; what it holds is kept.
  package func setDown(_ isDown: Bool) {
    if isDown {
      rd_kafka_mock_broker_set_down(cluster, -1)
    } else {
      rd_kafka_mock_broker_set_up(cluster, -1)
    }
  }
}
