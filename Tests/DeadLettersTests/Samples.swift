import Ingest
import Kafka

/// Records of the events topic, and dead letters of them.
enum Samples {
  /// 2026-11-21T08:00:00Z.
  static let now: Int64 = 1_795_248_000_000

  static func event(
    _ id: String, streamer: String = "s1", expiresIn: Int = 900, more: String = ""
  ) -> [UInt8] {
    Array(
      """
      {"id":"\(id)","app":"com.example.live","streamer":{"id":"\(streamer)"},"stream":{"id":"b1"},\
      "occurred_at":"2026-11-21T08:00:00Z","expires_in":\(expiresIn)\(more)}
      """.utf8)
  }

  /// As a worker writes it to the dead letters.
  static func letter(
    _ value: [UInt8]?, key: String? = "s1", topic: String = "notify-followers",
    headers: [KafkaHeader] = [], error: IngestError = IngestError(.wrongType, "app is a string"),
    at: Int64 = now, offset: Int64 = 12
  ) -> KafkaMessage {
    let record = KafkaMessage(
      topic: topic, partition: 3, offset: 17, key: key.map { Array($0.utf8) }, value: value,
      timestamp: at, headers: headers)
    let letter = DeadLetter(
      record, error: error, worker: "worker-1", time: "2026-11-21T08:00:01.000Z")
    return KafkaMessage(
      topic: "notify-followers.dead-letters", partition: 0, offset: offset, key: letter.key,
      value: letter.value, timestamp: at, headers: letter.headers)
  }
}
