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

  func fanOutEnded(_ event: Event, _ figures: [FanOutFigure], isComplete: Bool) {
    var fields: LogFields = ["event": .text(event.id)]
    for figure in figures { fields = fields.merging([figure.name: .integer(figure.count)]) }
    guard !isComplete else { return info("fan-out done", fields) }
    let why =
      figures.contains { $0.name == "forgotten_ms" }
      ? "Redis has lost what was noted of it" : "the rest of it is in the dead letters"
    warning("fan-out incomplete: \(why)", fields)
  }
}
