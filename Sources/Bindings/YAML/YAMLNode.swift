/// One node of a YAML document, owned by Swift: nothing of libyaml is left in it.
package struct YAMLNode: Sendable, Equatable {
  package enum Style: Sendable, Equatable {
    case plain
    /// `'…'`, `"…"`, `|` or `>`: always text, never null, boolean or number.
    case quoted
  }

  /// One `key: value` of a mapping; a key is always a scalar and occurs once.
  package struct Entry: Sendable, Equatable {
    package let key: String
    package let keyPlace: YAMLPlace
    package let value: YAMLNode
  }

  package enum Content: Sendable, Equatable {
    case scalar(String, Style)
    case sequence([YAMLNode])
    /// In the order in which they were written.
    case mapping([Entry])
  }

  package let content: Content
  package let place: YAMLPlace

  /// A plain scalar that YAML 1.2's core schema reads as null: nothing, `~`, `null`.
  package var isNull: Bool {
    guard case .scalar(let text, .plain) = content else { return false }
    return ["", "~", "null", "Null", "NULL"].contains(text)
  }

  package var mapping: [Entry]? {
    if case .mapping(let entries) = content { entries } else { nil }
  }

  /// The name of this kind in error messages: "a list", "a mapping", "nothing", "a text".
  package var kindName: String {
    switch content {
    case .scalar: isNull ? "nothing" : "a single value"
    case .sequence: "a list"
    case .mapping: "a mapping"
    }
  }
}
