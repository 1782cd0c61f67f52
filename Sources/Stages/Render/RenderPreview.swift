import Model
import Text

/// The push of one recipient: for `fanfare render` and for authors of templates.
package struct RenderPreview: Sendable, Equatable {
  /// What the recipient's devices of one platform get.
  package struct Message: Sendable, Equatable {
    package let platform: Platform
    /// JSON, without what differs by device.
    package let payload: String
    /// Of at most `limit`.
    package let byteCount: Int
    package let limit: Int
    /// Whether the text that `shorten` names was cut.
    package let isShortened: Bool
    /// What its author should know, in words.
    package var notes: [String] = []
  }

  /// A platform other than Apple's whose payload cannot be fitted into its limit.
  package struct Oversized: Sendable, Equatable {
    package let platform: Platform
    /// In words.
    package let problem: String
  }

  package let headers: PushHeaders
  /// The variant that was chosen, as the template spells it.
  package let locale: String
  /// Of each platform that the template has something for, Apple's first.
  package let messages: [Message]
  /// Devices of these get no push.
  package let oversized: [Oversized]

  // MARK: Apple's

  package var payload: String { messages[0].payload }
  package var byteCount: Int { messages[0].byteCount }
  package var isShortened: Bool { messages[0].isShortened }
}

extension PreparedEvent {
  /// Renders for a single recipient with these profile fields, on the way that all recipients go.
  /// Throws `unrenderable` when Apple's payload cannot be fitted into its limit.
  package func preview(recipient fields: [String: String]) throws(RenderError) -> RenderPreview {
    let (apple, locale) = try message(template.payloads[0], recipient: fields)
    var messages = [apple]
    var oversized: [RenderPreview.Oversized] = []
    for payload in template.payloads.dropFirst() {
      do throws(RenderError) {
        messages.append(try message(payload, recipient: fields).0)
      } catch {
        oversized.append(.init(platform: payload.platform, problem: error.message))
      }
    }
    return RenderPreview(
      headers: headers, locale: template.locales[locale], messages: messages, oversized: oversized)
  }

  private func message(
    _ payload: Template.Payload, recipient fields: [String: String]
  ) throws(RenderError) -> (RenderPreview.Message, locale: Int) {
    let page = RecipientPage(fieldNames: fieldNames)
    page.fields = fieldNames.map { name in
      fields[name].map { page.bytes.append(utf8: $0) } ?? .missing
    }
    let nothing = page.bytes.append([])
    page.recipients = [RecipientPage.Recipient(user: nothing, firstBinding: 0, bindingCount: 1)]
    page.bindings = Destination.all(of: payload.platform).prefix(1).map {
      RecipientPage.Binding(member: nothing, token: nothing, destination: $0)
    }
    let rendering = PageRendering(page, self, tally: SegmentTally(), maximumPushes: 1)
    guard let batch = rendering.next(), let push = batch.entries.first else {
      throw RenderError(
        .unrenderable,
        "the payload is over \(payload.platform.ownerInSentence)'s \(payload.limit) bytes"
          + (template.isShortenable(on: payload.platform)
            ? " even with its shortened text left empty: shorten its other texts"
            : ": let the template's 'shorten' name a text that may be cut"))
    }
    let written = batch.bytes.string(push.payload)
    let message = RenderPreview.Message(
      platform: payload.platform,
      payload: payload.platform == .fcm ? FCMPayload.object(tail: written) : written,
      byteCount: Int(push.payload.count), limit: payload.limit,
      isShortened: rendering.shortened > 0,
      notes: payload.platform == .webpush ? WebPushPayload.notes(on: written) : [])
    return (message, variantIndex(for: page.bytes[page.field(0, of: 0)]))
  }
}

extension Platform {
  /// The owner where it does not begin the sentence.
  var ownerInSentence: String {
    owner.hasPrefix("The ") ? "the " + owner.dropFirst("The ".count) : owner
  }
}

extension Template {
  func isShortenable(on platform: Platform) -> Bool {
    payloads.contains { payload in
      payload.platform == platform && payload.variants.contains { $0.contains(.shortenedBegin) }
    }
  }
}

/// An event that is made up, to show templates with.
package enum SampleEvent {
  /// Its document, which names no template and no time of expiry.
  /// - Parameter occurredAt: RFC 3339.
  package static func document(
    app: String = "com.example.live", occurredAt: String = "2026-01-01T20:00:00Z"
  ) -> [UInt8] {
    let text = """
      {"id": "sample", "app": \(JSONString.quoted(app)), "streamer": {"id": "s42", "name": "Aiko"},
        "stream": {"id": "b-991", "title": "Speedrun night", "category": "Games"},
        "occurred_at": \(JSONString.quoted(occurredAt))}
      """
    return Array(text.utf8)
  }
}
