/// One thing that a consumer's `poll` has to say.
package enum KafkaPoll: Sendable, Equatable {
  case message(KafkaMessage)
  /// These partitions are ours now; reading begins at their committed offsets.
  case assigned([KafkaPartition])
  /// The group wants these back and waits: finish what is under way, then call `giveUpRevoked`.
  case revoking([KafkaPartition])
  /// The group took these back in good order.
  case revoked([KafkaPartition])
  /// These were taken away without asking; others may be working on them already.
  case lost([KafkaPartition])
  case committed([KafkaPartition: Int64])
  case commitFailed([KafkaPartition: Int64], KafkaError)
  case error(KafkaError)
  /// Whether any broker can be reached, when that has changed; said first when it is known.
  case reachable(Bool)
}
