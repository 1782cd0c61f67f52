import CRdKafka

/// The librdkafka that is loaded at run time, which may differ from the one that was compiled
/// against.
package enum KafkaVersion {
  package static var string: String { String(cString: rd_kafka_version_str()) }

  /// Before 2.6.1 the client nonce is sent twice, which Kafka 4 refuses as "invalid credentials"
  /// (librdkafka pull request 4895).
  package static var scramFailsWithKafka4: Bool {
    // `0xMMmmrrxx`: major, minor, revision, pre-release.
    UInt32(bitPattern: rd_kafka_version()) < 0x0206_0100
  }
}
