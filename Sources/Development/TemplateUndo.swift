import Processes
import Text

extension DevelopmentDirectory {
  /// `kept` is the file that has the text that was taken away; nil where there was no text, or the
  /// one that comes with Fanfare.
  enum Undo: Equatable {
    /// The template is as it was when this run began.
    case asAtStart(kept: String?)
    /// Nothing was changed in this run: the template is as it comes with Fanfare.
    case asShipped(kept: String?)
    case nothing
  }

  /// Takes back what this run has changed in the template; where that is nothing, what earlier runs
  /// have. Each of the two texts is kept in a file of its own, so that a second undo loses none.
  /// - Parameter start: the template when this run began.
  func undoTemplate(to start: String?) throws(LocalRunError) -> Undo {
    let now = Self.templateText(templateFile)
    let shipped = Self.templateText(shippedTemplate)
    func keep(in name: String) throws(LocalRunError) -> String? {
      guard let now, !isSame(now, shipped) else { return nil }
      return try directory.write(now, to: name)
    }
    if let start, !isSame(start, now) {
      let kept = try keep(in: Self.undoneTemplate)
      try directory.write(start, to: Self.templateName)
      return .asAtStart(kept: kept)
    }
    if let shipped, !isSame(shipped, now) {
      let kept = try keep(in: Self.earlierTemplate)
      try directory.write(shipped, to: Self.templateName)
      return .asShipped(kept: kept)
    }
    return .nothing
  }

  private func isSame(_ text: String, _ other: String?) -> Bool {
    other.map { text.isExactly($0) } ?? false
  }
}
