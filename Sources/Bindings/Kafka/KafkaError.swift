import CRdKafka

/// A failure between us and Kafka, and what an operator can do about it.
package struct KafkaError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable, Equatable, CaseIterable {
    /// A property that librdkafka refuses, or one that would break a promise of ours.
    case configuration
    /// No broker answers, or the name or the TLS handshake fails.
    case unreachable
    case authentication
    case authorization
    case unknownTopic = "unknown_topic"
    case timedOut = "timed_out"
    /// The record is larger than the producer or the broker allows.
    case tooLarge = "too_large"
    /// The group moved on without us (rebalance, eviction, fenced member): the work will be
    /// delivered again.
    case rebalanced
    /// The client instance is beyond repair: close it and make a new one.
    case fatal
    /// The consumer or producer was closed.
    case closed
    /// The broker takes no such request.
    case unsupported
    case other
  }

  package let code: Code
  package let message: String
  /// The text of librdkafka or the broker: its name for the error and its message.
  package let cause: String

  package init(code: Code, message: String, cause: String = "") {
    self.code = code
    self.message = message
    self.cause = cause
  }

  package var isFatal: Bool { code == .fatal }

  package var description: String { cause.isEmpty ? message : "\(message) [\(cause)]" }
}

extension KafkaError {
  /// - Parameter doing: what was tried, as the beginning of a sentence: "committing offsets".
  init(_ error: rd_kafka_resp_err_t, doing: String, detail: String = "") {
    let name = String(cString: rd_kafka_err2name(error))
    let text = detail.isEmpty ? String(cString: rd_kafka_err2str(error)) : detail
    self.init(Code(error), doing: doing, name: name, text: text)
  }

  /// As the errors of librdkafka read.
  /// - Parameters:
  ///   - doing: what was tried, as the beginning of a sentence: "committing offsets".
  ///   - name: Kafka's name of the error: "ILLEGAL_GENERATION".
  ///   - text: what Kafka says of it.
  package init(_ code: Code, doing: String, name: String, text: String) {
    self.init(code: code, message: "\(doing): \(code.advice(for: text))", cause: "\(name): \(text)")
  }
}

extension KafkaError.Code {
  init(_ error: rd_kafka_resp_err_t) {
    switch error {
    case RD_KAFKA_RESP_ERR__FATAL, RD_KAFKA_RESP_ERR__FENCED,
      RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
      self = .fatal
    case RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
      RD_KAFKA_RESP_ERR__RESOLVE, RD_KAFKA_RESP_ERR__SSL,
      RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
      RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
      RD_KAFKA_RESP_ERR_NOT_COORDINATOR, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
      RD_KAFKA_RESP_ERR__WAIT_COORD, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
      RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
      self = .unreachable
    case RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED,
      RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM, RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE:
      self = .authentication
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
      RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
      RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      self = .authorization
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
      RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
      self = .unknownTopic
    case RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__MSG_TIMED_OUT,
      RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
      self = .timedOut
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
      self = .tooLarge
    case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID,
      RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED,
      RD_KAFKA_RESP_ERR__ASSIGNMENT_LOST, RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL:
      self = .rebalanced
    case RD_KAFKA_RESP_ERR__INVALID_ARG, RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE,
      RD_KAFKA_RESP_ERR_INVALID_GROUP_ID, RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT,
      RD_KAFKA_RESP_ERR_INVALID_CONFIG:
      self = .configuration
    case RD_KAFKA_RESP_ERR__DESTROY, RD_KAFKA_RESP_ERR__PURGE_QUEUE,
      RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
      self = .closed
    default: self = .other
    }
  }

  /// The advice to an operator. `text` is librdkafka's own: it alone tells some failures apart.
  fileprivate func advice(for text: String) -> String {
    switch self {
    case .configuration: "Kafka refuses a setting; see the cause"
    case .unreachable:
      text.contains("certificate verify failed")
        ? "the broker's certificate is not trusted; check the file of authorities (ca_file) and "
          + "that the certificate names the host that is connected to"
        : "no broker answers; check the bootstrap servers, the security protocol and that Kafka "
          + "runs"
    case .authentication:
      text.contains("SCRAM") && KafkaVersion.scramFailsWithKafka4
        ? "login refused; librdkafka \(KafkaVersion.string) cannot do SCRAM with Kafka 4 brokers "
          + "(fixed in 2.6.1): use PLAIN over TLS or a newer librdkafka"
        : "login refused; check the SASL mechanism, the user name and the password"
    case .authorization: "not allowed; grant the user's ACL on the topic or group"
    case .unknownTopic: "the topic or partition does not exist; create it"
    case .timedOut: "no answer in time; Kafka is slow or away"
    case .tooLarge: "the record is too large; raise max.message.bytes of the topic"
    case .rebalanced: "the group was rebalanced meanwhile; the work is delivered again"
    case .fatal: "this client cannot go on; it must be replaced by a new one"
    case .closed: "the client was closed before it was done"
    case .unsupported: "this broker takes no such request"
    case .other: "Kafka reports an error; see the cause"
    }
  }
}
