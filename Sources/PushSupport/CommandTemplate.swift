import Assembly
import Render
import Settings
import Terminal
import VerbSupport

/// The template that a name or a path means.
package enum CommandTemplate {
  /// The file that a name or a path means, whether it is there or not.
  package static func file(_ given: String, _ settings: Settings) -> String {
    isPath(given) ? given : "\(settings.templates.directory)/\(given).yaml"
  }

  private static func isPath(_ given: String) -> Bool {
    given.contains("/") || given.hasSuffix(".yaml") || given.hasSuffix(".yml")
  }

  package static func find(
    _ given: String, _ settings: Settings
  ) throws(CommandFailure) -> Template {
    do throws(SettingsError) {
      if isPath(given) {
        return try Assembly.template(file: given)
      }
      let directory = settings.templates.directory
      let (sources, problems) = TemplateFile.readWhatCanBe(in: directory)
      let file = file(given, settings)
      let isKnown =
        sources.contains { $0.name == given }
        || problems.contains { $0.place?.hasPrefix(file) ?? false }
      if isKnown { return try Assembly.template(file: file) }
      guard !sources.isEmpty else {
        throw SettingsError(code: .invalidTemplates, problems: problems)
      }
      let names = sources.map(\.name)
      let guess = Suggestion.nearest(to: given, among: names).map { "did you mean \($0)?" }
      throw SettingsError(
        code: .invalidTemplates,
        problems: [
          SettingsFinding(
            .problem, place: directory, key: nil, message: "holds no template \(given)",
            hint: guess ?? "it holds \(names.joined(separator: ", "))")
        ])
    } catch {
      throw CommandFailure(error)
    }
  }
}
