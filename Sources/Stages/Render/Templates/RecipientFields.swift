/// The profile fields that a template names, in the order of their first use. Confined to one
/// compilation, whose parts share it.
final class RecipientFields {
  /// Every recipient's profile is read with one HMGET of these.
  static let maximum = 32

  private(set) var names = ["locale"]
  private let findings: TemplateFindings

  init(_ findings: TemplateFindings) { self.findings = findings }

  /// The place of a field in `names`; one too many is reported.
  func index(of name: String, at place: TemplateSource.Place) -> Int {
    if let index = names.firstIndex(of: name) { return index }
    if names.count == Self.maximum {
      findings.report(
        place, "a template may use \(Self.maximum) profile fields: '\(name)' is one too many")
      return 0
    }
    names.append(name)
    return names.count - 1
  }
}
