/// A value that stands in the payload as what it is, not as a text.
struct TemplateValue: Equatable, Sendable {
  enum Source: Equatable, Sendable {
    /// A field of the event, by its dotted path.
    case event(path: String)
    /// A field of the profile, by its index in `Template.recipientFields`.
    case recipient(field: Int)
  }

  let source: Source
  let type: ValueType
  /// JSON; nil: the key is left out where the value is not of the type.
  let fallback: [UInt8]?

  var isOfEvent: Bool {
    if case .event = source { true } else { false }
  }

  /// The fallback where a text is wanted.
  var fallbackText: String { fallback.map { String(decoding: $0, as: UTF8.self) } ?? "" }
}
