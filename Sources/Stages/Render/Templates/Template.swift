import Model

/// A template, checked and taken apart: one list of pieces per locale, in which only values are
/// missing.
package struct Template: Sendable {
  package let name: String
  package let pushType: PushType
  /// 10, 5 or 1.
  package let priority: Int
  /// False: Apple tries once and does not store (`apns-expiration: 0`).
  package let isStored: Bool
  /// As the template spells them.
  package var locales: [String] { table.names }
  var defaultLocale: String { table.names[table.defaultIndex] }
  /// The profile fields that rendering reads; `locale` first.
  package let recipientFields: [String]

  let collapseID: TemplateText?
  let table: LocaleTable
  /// One per locale.
  let variants: [[Piece]]
  /// What is allowed and looks like a mistake, in the order of the file.
  package private(set) var warnings: [RenderError.Problem] = []

  /// A stretch of the payload.
  enum Piece: Equatable, Sendable {
    /// JSON as it stands.
    case literal([UInt8])
    /// The template's own text inside a JSON string, not yet escaped.
    case text(String)
    /// A field of the event, by its dotted path, inside a JSON string.
    case event(path: String, fallback: String)
    /// A field of the profile, by its index in `recipientFields`, inside a JSON string.
    case recipient(field: Int, fallback: String)
    /// A whole member of an object whose value has a type; left out where the value has not. A
    /// comma goes before it unless it is the object's first. `key` is JSON, colon included.
    case value(key: [UInt8], TemplateValue)
    /// Around the inside of the string that may be shortened; at most one pair.
    case shortenedBegin
    case shortenedEnd
  }

  /// Checks a template file and compiles it. Throws `invalidTemplate` with all that is wrong with
  /// it.
  package static func compile(_ source: TemplateSource) throws(RenderError) -> Template {
    let compiler = TemplateCompiler(source)
    if var template = compiler.compile() {
      template.warnings = compiler.findings.warnings.sorted { $0.place < $1.place }
      return template
    }
    let problems = compiler.findings.problems.sorted { $0.place < $1.place }
    throw RenderError(
      .invalidTemplate,
      "the template \(source.file) cannot be used: \(problems.count) "
        + (problems.count == 1 ? "problem" : "problems"),
      problems: problems)
  }
}
