import Model
import Render

/// Fan-outs that a lane works on: a template is joined with its event once, not once a segment.
/// Confined to its lane.
final class PreparedEvents {
  private let render: RenderStage
  /// As many as can be in flight; the oldest goes.
  private let maximum: Int
  private var prepared: [PreparedEvent] = []

  init(render: RenderStage, maximum: Int) {
    self.render = render
    self.maximum = maximum
  }

  func prepare(_ event: Event) throws(RenderError) -> PreparedEvent {
    if let index = prepared.lastIndex(where: { $0.event == event }) {
      return prepared[index]
    }
    let fresh = try render.prepare(event)
    if prepared.count >= maximum { prepared.removeFirst() }
    prepared.append(fresh)
    return fresh
  }
}
