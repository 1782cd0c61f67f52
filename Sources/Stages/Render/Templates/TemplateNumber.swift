/// A value that stands in the payload as a JSON number, not as a text.
struct TemplateNumber: Equatable, Sendable {
  enum Source: Equatable, Sendable {
    /// A field of the event, by its dotted path.
    case event(path: String)
    /// A field of the profile, by its index in `Template.recipientFields`.
    case recipient(field: Int)
  }

  let source: Source
  /// A JSON number; nil: the key is left out where the value is none.
  let fallback: [UInt8]?
  /// 1.5 is none for a badge or a date.
  let isWhole: Bool

  var isOfEvent: Bool {
    if case .event = source { true } else { false }
  }
}
