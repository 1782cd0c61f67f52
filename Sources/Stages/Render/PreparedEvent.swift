import Model

/// An event and its template, ready to be rendered for people. The event's fields are put into a
/// locale's payload when the first recipient asks for that locale. Confined to one lane: one per
/// event and lane.
package final class PreparedEvent {
  package let event: Event
  package let template: Template
  package let headers: PushHeaders
  /// The profile fields that rendering reads; `locale` first.
  package var fieldNames: [String] { template.recipientFields }

  /// Of each payload of the template one per locale.
  private var variants: [PreparedVariant?]
  /// By a destination's index the index of its payload; `nothing` where it gets none.
  let payloadOf: [UInt8]
  static let nothing = UInt8.max
  private let cache = LocaleCache()

  init(_ event: Event, _ template: Template) {
    self.event = event
    self.template = template
    variants = Array(repeating: nil, count: template.payloads.count * template.locales.count)
    payloadOf = Destination.all.map { destination in
      let index = template.payloads.firstIndex { $0.platform == destination.platform }
      return index.map { UInt8($0) } ?? Self.nothing
    }
    headers = PushHeaders(
      pushType: template.pushType, priority: template.priority,
      topic: event.app + template.pushType.topicSuffix,
      collapseID: CollapseID.make(template.collapseID, event),
      // Rounded down: Apple must not deliver what we would not send any more.
      expiration: template.isStored ? event.expiresAt / 1000 : 0, expiresAt: event.expiresAt,
      urgency: template.urgency)
  }

  /// Index of the variant for a locale as a profile holds it.
  @inline(__always)
  func variantIndex(for locale: UnsafeRawBufferPointer) -> Int {
    cache.index(of: locale, in: template.table)
  }

  /// Recipients since this was asked last whose locale nobody knows.
  func takeUnknownLocales() -> Int { cache.takeUnknown() }

  /// - Parameters:
  ///   - index: of the locale.
  ///   - payload: of the template's payloads.
  @inline(__always)
  func variant(_ index: Int, of payload: Int) -> PreparedVariant {
    let place = payload * template.locales.count + index
    if let variant = variants[place] { return variant }
    let variant = PreparedVariant(
      template.payloads[payload].variants[index], event, collapseID: headers.collapseID)
    variants[place] = variant
    return variant
  }
}

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
