import Model

/// Render: a page of recipients in, batches of pushes out.
///
///     let prepared = try stage.prepare(event)                  // once per event and lane
///     // for each page, read with prepared.fieldNames:
///     let rendering = stage.batches(of: page, for: prepared, …)
///     while let batch = rendering.next() { … }
package struct RenderStage: Sendable {
  private let templates: [String: Template]

  /// Of two templates with the same name the later one is used.
  package init(templates: [Template]) {
    self.templates = Dictionary(templates.map { ($0.name, $0) }) { _, later in later }
  }

  /// In alphabetical order.
  var templateNames: [String] { templates.keys.sorted() }

  package func template(named name: String) -> Template? { templates[name] }

  /// Joins an event with its template. Throws `unknownTemplate`.
  package func prepare(_ event: Event) throws(RenderError) -> PreparedEvent {
    guard let template = templates[event.template] else {
      let known = templateNames.isEmpty ? "none" : templateNames.joined(separator: ", ")
      throw RenderError(
        .unknownTemplate,
        "the event \(event.id) names the template '\(event.template)', which is not loaded "
          + "(loaded: \(known)): add its file to the templates, or correct the event")
    }
    return PreparedEvent(event, template)
  }

  /// Renders a page into batches of at most `maximumPushes`, one each time `next()` is called, and
  /// counts the page on `tally`: followers, suppressed and skipped at once, pushes as they are
  /// rendered.
  package func batches(
    of page: RecipientPage, for prepared: PreparedEvent, tally: SegmentTally, maximumPushes: Int
  ) -> PageRendering {
    PageRendering(page, prepared, tally: tally, maximumPushes: maximumPushes)
  }
}

/// Render's error for a template, or an event for it, that cannot be used.
package struct RenderError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable {
    /// The template file breaks a rule; `problems` lists every one.
    case invalidTemplate
    /// An event names a template that is not loaded.
    case unknownTemplate
    /// The payload does not fit into Apple's limit, however far the template's field is shortened.
    case unrenderable
  }

  /// One thing that is wrong with a template file, where, and what to do about it.
  package struct Problem: Sendable, Equatable, CustomStringConvertible {
    package let file: String
    package let place: TemplateSource.Place
    package let message: String

    package var description: String { "\(file):\(place.line):\(place.column): \(message)" }
  }

  package let code: Code
  package let message: String
  /// In the order of the file; empty unless the code is `invalidTemplate`.
  package let problems: [Problem]

  init(_ code: Code, _ message: String, problems: [Problem] = []) {
    self.code = code
    self.message = message
    self.problems = problems
  }

  package var description: String {
    problems.isEmpty ? message : problems.map(\.description).joined(separator: "\n")
  }
}
