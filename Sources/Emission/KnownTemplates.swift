import Model
import Terminal

/// Whether workers will have the templates that events name. It looks at names only: whether the
/// templates are sound, `check` says.
package struct KnownTemplates {
  private let directory: String
  private let names: [String]?

  /// - Parameter names: of the templates in the directory; nil where it cannot be read.
  package init(directory: String, names: [String]?) {
    self.directory = directory
    self.names = names
  }

  /// Refuses events that workers would put aside.
  package func check(_ events: [ReadEvent]) throws(CommandFailure) {
    let named = Set(events.compactMap(\.event?.template)).sorted()
    let unknown = named.filter { name in
      names.map { !$0.contains(name) } ?? (name != TemplateName.usual)
    }
    guard !unknown.isEmpty else { return }
    throw CommandFailure(
      .failed,
      "nothing was sent: workers put aside what they have no template for "
        + "(--any-template sends it all the same)",
      findings: unknown.map { finding($0) })
  }

  private func finding(_ name: String) -> String {
    guard let names else {
      return "templates.directory (\(directory)) cannot be read: whether workers have the "
        + "template \(name) is not known"
    }
    let guess = Suggestion.nearest(to: name, among: names).map { " (did you mean \($0)?)" }
    return "templates.directory (\(directory)) holds no template \(name)" + (guess ?? "")
  }
}
