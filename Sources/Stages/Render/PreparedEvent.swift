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

  private var variants: [PreparedVariant?]
  private let cache = LocaleCache()

  init(_ event: Event, _ template: Template) {
    self.event = event
    self.template = template
    variants = Array(repeating: nil, count: template.variants.count)
    headers = PushHeaders(
      pushType: template.pushType, priority: template.priority,
      topic: event.app + template.pushType.topicSuffix,
      collapseID: CollapseID.make(template.collapseID, event),
      // Rounded down: Apple must not deliver what we would not send any more.
      expiration: template.isStored ? event.expiresAt / 1000 : 0, expiresAt: event.expiresAt)
  }

  /// Index of the variant for a locale as a profile holds it.
  @inline(__always)
  func variantIndex(for locale: UnsafeRawBufferPointer) -> Int {
    cache.index(of: locale, in: template.table)
  }

  /// Recipients since this was asked last whose locale nobody knows.
  func takeUnknownLocales() -> Int { cache.takeUnknown() }

  @inline(__always)
  func variant(_ index: Int) -> PreparedVariant {
    if let variant = variants[index] { return variant }
    let variant = PreparedVariant(template.variants[index], event)
    variants[index] = variant
    return variant
  }
}
