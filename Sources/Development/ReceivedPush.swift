import JSON
import Terminal

/// A push as one device shows it.
package struct ReceivedPush: Sendable, Equatable {
  package let device: String
  /// Empty where the push has none.
  package let title: String
  package let body: String

  /// - Parameter push: the last push to the device, as its simulator reports it.
  init(device: String, push: JSON.JSONObject) {
    self.device = device
    let text = Self.text(in: .object(push)) ?? ("", "")
    (title, body) = text
  }

  /// The first alert in it, wherever the platform has it: `aps.alert`, `notification`, or within
  /// the text of a browser's message.
  private static func text(in value: JSONValue) -> (String, String)? {
    switch value {
    case .object(let object):
      let (title, body) = (object["title"]?.string, object["body"]?.string)
      if title != nil || body != nil { return (title ?? "", body ?? "") }
      if let alert = object["alert"]?.string { return ("", alert) }
      for member in object.members {
        if let found = text(in: member.value) { return found }
      }
      if let message = object["message"]?.string,
        let inner = try? JSONValue.parse(Array(message.utf8))
      {
        return text(in: inner)
      }
      return nil
    case .array(let values):
      for value in values { if let found = text(in: value) { return found } }
      return nil
    default: return nil
    }
  }

  var line: String {
    let text = [title, body].filter { !$0.isEmpty }.joined(separator: " - ")
    return text.isEmpty ? "a push without a text" : text
  }

  var json: JSONOutput {
    ["device": .text(device), "title": .text(title), "body": .text(body)]
  }
}
