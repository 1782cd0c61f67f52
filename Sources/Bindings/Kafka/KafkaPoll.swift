/// One thing that a consumer's `poll` has to say.
package enum KafkaPoll: Sendable, Equatable {
  case message(KafkaMessage)
  /// All that is in the partition has been read; the next record will have this offset, or a later
  /// one. Said where offsets without a record lie before it, and where nothing was committed yet:
  /// once that is, it is known what the partition loses.
  case end(KafkaPartition, Int64)
  /// Kafka has thrown these offsets away before they were read here, or anywhere in the group: by
  /// retention, or because somebody deleted them. Said before the record, or the end, that follows.
  case skipped(KafkaPartition, Range<Int64>)
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
