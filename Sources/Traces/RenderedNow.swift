import Render

/// The push that the user would get of the event if it came now.
package enum RenderedNow: Sendable {
  case preview(RenderPreview)
  /// It would not be rendered, or nobody can tell: why.
  case unknown(String)
}
