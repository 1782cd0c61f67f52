import Model
import Redis

/// The part that is lost with a record in the dead letters.
package enum DeadPart: Sendable {
  case segment(Segment)
  /// The segments that the event's own record has not brought to Kafka.
  case event
  /// The same, of the record that was to bring more of them there.
  case plan

  /// Name and number of segments, as the script takes them.
  var arguments: ScriptArguments {
    switch self {
    case .segment(let segment): ["segment": segment.id, "segments": String(segment.planned)]
    case .event: ["segment": "event", "segments": "0"]
    case .plan: ["segment": "plan", "segments": "0"]
    }
  }
}
