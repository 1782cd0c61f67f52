import JSON
import Model
import Render

/// The part of a message that a phone or a browser shows.
package struct ShownMessage: Sendable, Equatable {
  package var title: String?
  /// Apple's only.
  package var subtitle: String?
  package var body: String?

  /// Whether anything is shown: a silent push shows nothing.
  package var isEmpty: Bool { title == nil && subtitle == nil && body == nil }

  package init(_ message: RenderPreview.Message) {
    let payload = try? JSONValue.parseWithAnyIntegers(Array(message.payload.utf8)).object
    switch message.platform {
    case .apns:
      let alert = payload?["aps"]?.object?["alert"]
      body = alert?.string
      if let alert = alert?.object {
        title = Self.text(alert, "title", orKey: "title-loc-key")
        subtitle = Self.text(alert, "subtitle", orKey: "subtitle-loc-key")
        body = Self.text(alert, "body", orKey: "loc-key")
      }
    case .fcm:
      let shared = payload?["notification"]?.object
      let own = payload?["android"]?.object?["notification"]?.object
      func text(_ name: String) -> String? {
        own.flatMap { Self.text($0, name, orKey: name + "_loc_key") } ?? shared?[name]?.string
      }
      title = text("title")
      body = text("body")
    default:
      let notification = payload?["notification"]?.object
      title = notification?["title"]?.string
      body = notification?["body"]?.string
    }
  }

  /// A key of a text in the app stands in brackets: only the app knows the text.
  private static func text(_ object: JSON.JSONObject, _ name: String, orKey key: String) -> String?
  {
    object[name]?.string ?? object[key]?.string.map { "[\($0)]" }
  }
}
