import Ingest
import Kafka
import Model

/// 2026-11-21T08:00:00Z
let eventTime: Int64 = 1_795_248_000_000
let stage = IngestStage(options: IngestOptions())

/// An event, each of whose members can be replaced by other JSON or left out (nil).
func eventText(_ changes: KeyValuePairs<String, String?> = [:]) -> String {
  var members: [(String, String)] = [
    ("id", #""live-8f2c""#), ("app", #""com.example.live""#),
    ("streamer", #"{"id":"s42","name":"Aiko"}"#),
    ("stream", #"{"id":"b-991","title":"Speedrun night","category":"Games"}"#),
    ("template", #""go-live""#), ("occurred_at", #""2026-11-21T08:00:00Z""#),
    ("expires_in", "900"),
  ]
  for (name, value) in changes {
    members.removeAll { $0.0 == name }
    if let value { members.append((name, value)) }
  }
  return "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
}

func message(
  _ value: [UInt8]?, key: String? = "s42", topic: String = "notify-followers",
  headers: [KafkaHeader] = []
) -> KafkaMessage {
  KafkaMessage(
    topic: topic, partition: 3, offset: 1204, key: key.map { Array($0.utf8) }, value: value,
    timestamp: eventTime, headers: headers)
}

func decode(_ bytes: [UInt8]?, key: String? = "s42") -> IngestResult {
  stage.decode(message(bytes, key: key), now: eventTime)
}

func decode(_ text: String, key: String? = "s42") -> IngestResult {
  decode(Array(text.utf8), key: key)
}

func decodeSegment(_ text: String) -> IngestResult {
  stage.decode(
    message(Array(text.utf8), key: nil, topic: "notify-followers.segments"), now: eventTime)
}

extension IngestResult {
  var event: Event? { if case .event(let event) = self { event } else { nil } }
  var segment: Segment? { if case .segment(let segment) = self { segment } else { nil } }
  var error: IngestError? { if case .malformed(let error) = self { error } else { nil } }
}
