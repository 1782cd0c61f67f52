import Kafka

/// What clients ask a broker; each takes a time of its own, and can be made to fail.
package enum MemoryRequest: Sendable, Hashable, CaseIterable {
  case connect, metadata, produce, fetch, lag
  case join, heartbeat, leave, commit, committed
}

/// How a request ends that does not end well.
package enum MemoryFailure: Sendable, Hashable {
  /// Clients try again by themselves after these three.
  case disconnect, notLeader, coordinatorNotAvailable
  case rebalanceInProgress, illegalGeneration, unknownMember, fencedInstance
  case messageTooLarge, topicAuthorizationFailed, groupAuthorizationFailed, unknownTopic
  /// The client hears nothing and gives up, whether its request was carried out or not.
  case unanswered(isDone: Bool)

  var isTriedAgain: Bool {
    [.disconnect, .notLeader, .coordinatorNotAvailable].contains(self)
  }

  func error(doing: String) -> KafkaError {
    let (code, name, text) = parts
    return KafkaError(code, doing: doing, name: name, text: text)
  }

  private var parts: (KafkaError.Code, name: String, text: String) {
    switch self {
    case .disconnect: (.unreachable, "_TRANSPORT", "Local: Broker transport failure")
    case .notLeader:
      (.unreachable, "NOT_LEADER_FOR_PARTITION", "Broker: Not leader for partition")
    case .coordinatorNotAvailable:
      (.unreachable, "COORDINATOR_NOT_AVAILABLE", "Broker: Coordinator not available")
    case .rebalanceInProgress:
      (.rebalanced, "REBALANCE_IN_PROGRESS", "Broker: Group rebalance in progress")
    case .illegalGeneration:
      (
        .rebalanced, "ILLEGAL_GENERATION", "Broker: Specified group generation id is not valid"
      )
    case .unknownMember: (.rebalanced, "UNKNOWN_MEMBER_ID", "Broker: Unknown member")
    case .fencedInstance:
      (
        .fatal, "FENCED_INSTANCE_ID",
        "Broker: Static consumer fenced by other consumer with same group.instance.id"
      )
    case .messageTooLarge: (.tooLarge, "MSG_SIZE_TOO_LARGE", "Broker: Message size too large")
    case .topicAuthorizationFailed:
      (.authorization, "TOPIC_AUTHORIZATION_FAILED", "Broker: Topic authorization failed")
    case .groupAuthorizationFailed:
      (.authorization, "GROUP_AUTHORIZATION_FAILED", "Broker: Group authorization failed")
    case .unknownTopic:
      (.unknownTopic, "UNKNOWN_TOPIC_OR_PART", "Broker: Unknown topic or partition")
    case .unanswered: (.timedOut, "_TIMED_OUT", "Local: Timed out")
    }
  }
}
