import Ingest
import JSON
import Kafka
import Model
import Testing

/// 2026-11-21T08:00:00Z, when the sample's stream began.
let sampleTime: Int64 = 1_795_248_000_000

let sampleText = """
  {"id":"live-8f2c","app":"com.example.live","streamer":{"id":"s42","name":"Aiko"},\
  "stream":{"id":"b-991","title":"Speedrun night","category":"Games"},"template":"go-live",\
  "occurred_at":"2026-11-21T08:00:00Z","expires_in":900}
  """

/// The sample with a value set at a path of one or two names; nil takes it out.
func sample(_ path: String, _ value: JSONValue?) throws -> JSONValue {
  var event = try #require(try JSONValue.parse(Array(sampleText.utf8)).object)
  let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
  if names.count == 2 {
    var group = event[names[0]]?.object ?? JSONObject()
    group[names[1]] = value
    event[names[0]] = .object(group)
  } else {
    event[names[0]] = value
  }
  return .object(event)
}

func message(
  _ value: [UInt8]?, key: [UInt8]? = nil, topic: String = "notify-followers",
  headers: [KafkaHeader] = []
) -> KafkaMessage {
  KafkaMessage(topic: topic, partition: 3, offset: 17, key: key, value: value, headers: headers)
}

func decode(_ message: KafkaMessage, now: Int64 = sampleTime) -> IngestResult {
  IngestStage(options: IngestOptions()).decode(message, now: now)
}

func decode(_ value: JSONValue) -> IngestResult { decode(JSONText.compact(value)) }
func decode(_ text: String) -> IngestResult { decode(message(Array(text.utf8))) }

extension IngestResult {
  var event: Event? { if case .event(let event) = self { event } else { nil } }
  var segment: Segment? { if case .segment(let segment) = self { segment } else { nil } }
  var plan: RemainingPlan? { if case .plan(let plan) = self { plan } else { nil } }
  /// Of an event from the future too.
  var error: IngestError? {
    switch self {
    case .malformed(let error), .early(_, let error): error
    case .event, .ended, .segment, .plan: nil
    }
  }
}
