import Model
import Telemetry

extension Log {
  /// How a fan-out begins, or goes on.
  func fanOut(_ what: String, _ event: Event, _ audience: Audience, _ more: LogFields = [:]) {
    let fields: LogFields = .of(event, ["segments": .integer(audience.segmentCount)])
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
      .of(
        event,
        [
          "streamer": .text(event.streamer),
          "hint": "where there are some, redis.database or redis.prefix.data may lead elsewhere",
        ]))
  }

  /// An event may lack them on purpose; an app that cannot do without a key shows nothing.
  ///
  /// - Parameter fields: paths of the values that the event does not have.
  func keysAreLeftOut(_ event: Event, _ fields: [String]) {
    guard !fields.isEmpty else { return }
    let named = fields.prefix(Self.maximumNamedFields)
    info(
      "the event lacks values of its template: their keys are left out of every payload",
      .of(
        event,
        [
          "template": .text(event.template),
          "fields": .text(named.joined(separator: " ")), "count": .integer(fields.count),
        ]))
  }

  /// A template may have hundreds.
  private static var maximumNamedFields: Int { 10 }
}
