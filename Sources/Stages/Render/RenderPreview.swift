import Model

/// The push of one recipient: for `fanfare render` and for authors of templates.
package struct RenderPreview: Sendable, Equatable {
  package let headers: PushHeaders
  /// The variant that was chosen, as the template spells it.
  package let locale: String
  /// JSON, at most `maximumPayloadBytes` of the push type.
  package let payload: String
  package let byteCount: Int
  /// Whether the text that `shorten` names was cut.
  package let isShortened: Bool
}

extension PreparedEvent {
  /// Renders for a single recipient with these profile fields, on the way that all recipients go.
  /// Throws `unrenderable` when the payload cannot be fitted into Apple's limit.
  package func preview(recipient fields: [String: String]) throws(RenderError) -> RenderPreview {
    let page = RecipientPage(fieldNames: fieldNames)
    page.fields = fieldNames.map { name in
      fields[name].map { page.bytes.append(utf8: $0) } ?? .missing
    }
    let nothing = page.bytes.append([])
    page.recipients = [RecipientPage.Recipient(user: nothing, firstBinding: 0, bindingCount: 1)]
    page.bindings = [
      RecipientPage.Binding(member: nothing, token: nothing, destination: .production)
    ]
    let rendering = PageRendering(page, self, tally: SegmentTally(), maximumPushes: 1)
    guard let batch = rendering.next(), let push = batch.entries.first else {
      let limit = headers.pushType.maximumPayloadBytes
      throw RenderError(
        .unrenderable,
        "the payload is over Apple's \(limit) bytes"
          + (template.isShortenable
            ? " even with its shortened text left empty: shorten its other texts"
            : ": let the template's 'shorten' name a text that may be cut"))
    }
    let index = variantIndex(for: page.bytes[page.field(0, of: 0)])
    return RenderPreview(
      headers: headers, locale: template.locales[index],
      payload: batch.bytes.string(push.payload), byteCount: Int(push.payload.count),
      isShortened: rendering.shortened > 0)
  }
}

extension Template {
  var isShortenable: Bool { variants.contains { $0.contains(.shortenedBegin) } }
}
