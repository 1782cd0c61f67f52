import YAML

/// Where a value came from. Later ones win: default, file, environment, flag.
package enum SettingSource: Sendable, Equatable, CustomStringConvertible {
  case builtIn
  case file(String, YAMLPlace)
  case environment(String)
  case flag(String)

  package var description: String {
    switch self {
    case .builtIn: "default"
    case .file(let path, let place): "\(path):\(place)"
    case .environment(let name): "environment \(name)"
    case .flag(let key): "--set \(key)"
    }
  }

  var rank: Int {
    switch self {
    case .builtIn: 0
    case .file: 1
    case .environment: 2
    case .flag: 3
    }
  }
}

/// One thing that is wrong, or looks wrong, with its place, its key and what to do.
package struct SettingsFinding: Sendable, Equatable, CustomStringConvertible {
  package enum Severity: String, Sendable {
    /// Nothing may start with it.
    case problem
    case warning
  }

  package var severity: Severity
  /// `fanfare.yaml:12:5`, `environment FANFARE_…`, `--set …`, a file's path; nil when there is no
  /// place.
  package let place: String?
  package let key: String?
  package let message: String
  package let hint: String?

  package init(
    _ severity: Severity, place: String?, key: String?, message: String, hint: String? = nil
  ) {
    self.severity = severity
    self.place = place
    self.key = key
    self.message = message
    self.hint = hint
  }

  /// The key where it is to be said beside the place: `--set redis.port` says it itself.
  package static func key(_ key: String?, beside place: String?) -> String? {
    place == key.map { SettingSource.flag($0).description } ? nil : key
  }

  /// `fanfare.yaml:12:5: warning: kafka.gruop: unknown key (did you mean kafka.group?)`
  package var description: String {
    var text = place.map { "\($0): " } ?? ""
    if severity == .warning { text += "warning: " }
    if let key = Self.key(key, beside: place) { text += "\(key): " }
    text += message
    if let hint { text += " (\(hint))" }
    return text
  }
}

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
