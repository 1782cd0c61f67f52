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
