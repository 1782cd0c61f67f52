/// The mistakes found in a template file while it is compiled, and the reading that finds them.
/// Confined to one compilation, whose parts share it.
final class TemplateFindings {
  let source: TemplateSource
  private(set) var problems: [RenderError.Problem] = []
  private(set) var warnings: [RenderError.Problem] = []
  /// Every placeholder of the file.
  private(set) var uses: [PlaceholderSpelling.Use] = []

  init(_ source: TemplateSource) { self.source = source }

  func report(_ place: TemplateSource.Place, _ message: String) {
    problems.append(RenderError.Problem(file: source.file, place: place, message: message))
  }

  func warn(_ place: TemplateSource.Place, _ message: String) {
    warnings.append(RenderError.Problem(file: source.file, place: place, message: message))
  }

  func note(_ placeholder: TemplateText.Placeholder, at place: TemplateSource.Place) {
    uses.append(PlaceholderSpelling.Use(placeholder: placeholder, place: place))
  }

  static func list(_ words: [String]) -> String { words.joined(separator: ", ") }

  /// The members by key; a key that stands twice is a problem.
  func unique(_ entries: [TemplateSource.Entry]) -> [String: TemplateSource.Entry] {
    var members: [String: TemplateSource.Entry] = [:]
    for entry in entries {
      if let first = members[entry.key] {
        report(
          entry.place,
          "the key '\(entry.key)' stands already in line \(first.place.line): remove one")
      } else {
        members[entry.key] = entry
      }
    }
    return members
  }

  func string(_ node: TemplateSource.Node, _ what: String) -> String? {
    if case .string(let text) = node.value { return text }
    report(node.place, "\(what) must be a text: put it in quotation marks")
    return nil
  }

  /// The text taken apart, with its faults reported.
  func parse(_ text: String, at place: TemplateSource.Place) -> TemplateText {
    let parsed = TemplateText(text)
    for fault in parsed.faults { report(place, fault) }
    for case .literal(let text) in parsed.parts {
      guard let meant = PlaceholderSpelling.placeholder(meantBy: text) else { continue }
      warn(place, "'\(meant)' looks like a placeholder and is text: write '{{\(meant)}}'")
    }
    for case .placeholder(let only) in parsed.parts {
      note(only, at: place)
      if let fallback = only.fallback, PlaceholderSpelling.isNoFallback(fallback) {
        warn(
          place,
          "'|\(fallback)' of '{{\(only.path)}}' is text for where the value is missing: there are "
            + "no filters, and a type goes before the name")
      }
      guard let keyword = only.keyword?.rawValue else { continue }
      report(
        place,
        "'{{\(keyword) \(only.path)}}' must stand alone in its quotes in the payload: leave "
          + "'\(keyword)' out where it is part of a text")
    }
    return parsed
  }
}
