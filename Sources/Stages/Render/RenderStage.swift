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
