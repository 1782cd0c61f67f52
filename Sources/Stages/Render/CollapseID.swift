import Model

/// The value of `apns-collapse-id`: at most 64 bytes (Apple, "Sending notification requests to
/// APNs"), and here only visible ASCII and inner spaces, so that it is safe in a header whatever
/// the event says.
enum CollapseID {
  static let maximumBytes = 64

  /// The template's text with the event's fields put in. A value that is too long or has other
  /// characters becomes its first visible ASCII bytes, at most 27, then `~` and 36 characters of a
  /// hash of the whole: the same for the same value, on every worker. Nil, each push standing for
  /// itself, when nothing is left or a field without fallback is missing: unrelated pushes must not
  /// replace each other.
  static func make(_ template: TemplateText?, _ event: Event) -> String? {
    guard let template else { return nil }
    var text = ""
    for part in template.parts {
      switch part {
      case .literal(let literal): text += literal
      case .placeholder(let placeholder):
        let value = event.value(of: placeholder.path)
        guard let shown = value.isEmpty ? placeholder.fallback : value else { return nil }
        text += shown
      }
    }
    guard !text.isEmpty else { return nil }
    return isSafe(text) ? text : hashed(text)
  }

  private static func isSafe(_ text: String) -> Bool {
    text.utf8.count <= maximumBytes && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
      && text.utf8.first != 0x20 && text.utf8.last != 0x20
  }

  private static func hashed(_ text: String) -> String {
    var text = text
    let seed = PushIdentifier.Seed(event: "apns-collapse-id")
    let hash = text.withUTF8 { PushIdentifier(seed: seed, token: UnsafeRawBufferPointer($0)).text }
    let visible = text.utf8.prefix { $0 > 0x20 && $0 < 0x7F }
    let kept = visible.prefix(maximumBytes - PushIdentifier.length - 1)
    return String(decoding: kept, as: UTF8.self) + "~" + hash
  }
}

extension Event {
  /// A field by its dotted path; empty when there is none.
  func value(of path: String) -> String {
    if let value = fields[path] { return value }
    switch path {
    case "event.id": return id
    case "streamer.id": return streamer
    case "stream.id": return stream
    // Whole seconds, as Apple counts.
    case "event.occurred_at": return String(occurredAt / 1000)
    case "event.expires_at": return String(expiresAt / 1000)
    default: return ""
    }
  }
}
