import Record
import Terminal
import Text

/// A fan-out that has ended, and what Ken's devices show of it.
package struct FanOutLine {
  let fanOut: KnownFanOut
  let received: [ReceivedPush]

  /// From its opening to its last counter; nil where one of the two is not known.
  private var milliseconds: Int? {
    let status = fanOut.status
    guard status.startedAt > 0, status.doneAt >= status.startedAt else { return nil }
    return status.doneAt - status.startedAt
  }

  private var rejected: Int { fanOut.status.rejected.values.reduce(0, &+) }

  /// The first is the fan-out, the others are Ken's devices.
  package var lines: [String] {
    let status = fanOut.status
    var numbers = [
      "\(Figures.grouped(status.pushes)) pushes", "\(Figures.grouped(status.accepted)) accepted",
    ]
    for (count, name) in [
      (rejected, "rejected"), (status.expired, "expired"), (status.suppressed, "suppressed"),
      (status.cancelled, "cancelled"),
    ] where count > 0 {
      numbers.append("\(Figures.grouped(count)) \(name)")
    }
    if status.state != .done { numbers.append(status.state.rawValue) }
    if let milliseconds { numbers.append("\(Figures.grouped(milliseconds)) ms") }
    let first = "\(fanOut.event): " + numbers.joined(separator: ", ")
    guard !received.isEmpty else { return [first, "  Ken got nothing of it"] }
    return [first] + received.map { "  Ken's \(TextLayout.padded($0.device, to: 8)) \($0.line)" }
  }

  package var json: JSONOutput {
    let status = fanOut.status
    return [
      "event": .text(fanOut.event), "state": .text(status.state.rawValue),
      "pushes": .integer(status.pushes), "accepted": .integer(status.accepted),
      "rejected": .integer(rejected), "suppressed": .integer(status.suppressed),
      "expired": .integer(status.expired), "cancelled": .integer(status.cancelled),
      "ms": milliseconds.map { .integer($0) } ?? .null,
      "ken": .array(received.map(\.json)),
    ]
  }
}
