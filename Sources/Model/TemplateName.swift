import Text

/// The rule for names of templates: events name one, and its file is named after it.
package enum TemplateName {
  package static let maximumBytes = 64
  /// Of an event that names none.
  package static let usual = "go-live"

  /// 1…64 bytes of `[a-z0-9-]`.
  package static func isValid(_ name: String) -> Bool {
    (1...maximumBytes).contains(name.utf8.count)
      && name.utf8.allSatisfy { $0.isASCIILower || $0.isASCIIDigit || $0 == 0x2D }
  }
}
