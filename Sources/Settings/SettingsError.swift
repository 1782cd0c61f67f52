import YAML

/// The configuration cannot be used; says everything that is wrong at once.
package struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable {
    case invalidConfiguration = "invalid-configuration"
    case invalidTemplates = "invalid-templates"
  }

  package let code: Code
  /// Problems only, at least one.
  package let problems: [SettingsFinding]

  package init(code: Code, problems: [SettingsFinding]) {
    self.code = code
    self.problems = problems
  }

  package var message: String {
    let count = problems.count == 1 ? "1 problem" : "\(problems.count) problems"
    return code == .invalidTemplates
      ? "the templates have \(count)" : "the configuration has \(count)"
  }

  package var description: String {
    ([message + ":"] + problems.map { "  \($0)" }).joined(separator: "\n")
  }
}
