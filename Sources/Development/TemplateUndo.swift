import Processes
import Text

extension DevelopmentDirectory {
  enum Undo: Equatable {
    /// The template is as it was when this run began.
    case asAtStart
    /// Nothing was changed in this run: the template is as it comes with Fanfare.
    case asShipped
    case nothing
  }

  /// Takes back what this run has changed in the template; where that is nothing, what earlier runs
  /// have. The text that is taken away is kept in `undoneTemplateFile`.
  /// - Parameter start: the template when this run began.
  func undoTemplate(to start: String?) throws(LocalRunError) -> Undo {
    let now = Self.templateText(templateFile)
    guard let (text, undo) = earlierTemplate(than: now, start) else { return .nothing }
    if let now { try directory.write(now, to: Self.undoneTemplate) }
    try directory.write(text, to: Self.templateName)
    return undo
  }

  private func earlierTemplate(
    than now: String?, _ start: String?
  ) -> (text: String, undo: Undo)? {
    if let start, !isSame(start, now) { return (start, .asAtStart) }
    if let text = Self.templateText(shippedTemplate), !isSame(text, now) {
      return (text, .asShipped)
    }
    return nil
  }

  private func isSame(_ text: String, _ other: String?) -> Bool {
    other.map { text.isExactly($0) } ?? false
  }
}
