import Devices
import Record

/// Why there is no trace.
package enum TraceError: Error, Sendable, Equatable {
  case unknownEvent
  case unknownUser
  case badUser(GivenRefusal)
  case record(RecordError)
  case devices(DevicesError)

  /// For people; nil where another room has said it.
  package var message: String? {
    switch self {
    case .unknownEvent:
      "Redis knows no such event: no worker has read it yet, its record went to the dead letters "
        + "before it was opened, or it began over 7 days ago"
    case .unknownUser:
      "Redis knows nothing of this user: no device, no profile, no follow of this streamer, and "
        + "nothing was noted for this event; is the id right?"
    case .badUser(let refusal):
      "\(refusal.name) must be \(refusal.rule)\(refusal.hint); a fan-out passes over a follower "
        + "with another id"
    case .record, .devices: nil
    }
  }
}
