import Expand
import Model
import Record
import Telemetry

extension Log {
  /// How a fan-out begins, or goes on.
  func fanOut(_ what: String, _ event: Event, _ audience: Audience, _ more: LogFields = [:]) {
    let fields: LogFields = [
      "event": .text(event.id), "segments": .integer(audience.segmentCount),
    ]
    info(what, fields.merging(more))
  }

  /// It may be so; where it is so of every streamer, workers look in the wrong place.
  func nobodyFollows(_ event: Event) {
    let what =
      event.audience == .followers
      ? "Redis knows no followers of the streamer: nobody is told"
      : "Redis knows nobody whom the event's audience names: nobody is told"
    notice(
      what,
      [
        "event": .text(event.id), "streamer": .text(event.streamer),
        "hint": "where there are some, redis.database or redis.prefix.data may lead elsewhere",
      ])
  }
}
