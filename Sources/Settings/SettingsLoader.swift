import Text
import YAML

/// Reads and validates the configuration. Opens the configuration, the secrets' files, the key and
/// the certificates; connects to nothing.
package enum SettingsLoader {
  /// A configuration is a few KiB.
  package static let maximumFileBytes = YAMLNode.defaultMaximumBytes

  /// Finds everything that is wrong at once; throws nothing, `SettingsReport.settings()` does.
  package static func load(_ input: SettingsInput) -> SettingsReport {
    var layers = SettingsLayers(baseDirectory: directory(of: input.file))
    if let file = input.file { layers.read(file: file) }
    layers.read(environment: input.environment)
    layers.read(overrides: input.overrides)
    layers.readSecretFiles()
    var settings = layers.settings()
    if settings.worker.id.isEmpty { settings.worker.id = workerID(input) }
    // A setting in an unreadable file is not missing: it is not known.
    if !layers.fileIsUnread {
      SettingsRules(settings: settings, requirements: input.requirements).check(&layers)
      FileRules(settings: settings).check(
        &layers, needsCredentials: input.requirements.contains(.credentials))
    }
    if input.denyWarnings {
      for index in layers.findings.indices { layers.findings[index].severity = .problem }
    }
    return SettingsReport(
      findings: layers.findings, read: settings, resolved: layers.resolved(settings))
  }

  private static func directory(of file: String?) -> String {
    guard let file, let slash = file.lastIndex(of: "/") else { return "" }
    return slash == file.startIndex ? "/" : String(file[..<slash])
  }

  /// A host's name is letters, digits, `.` and `-`; whatever else it holds must not break a Redis
  /// key.
  private static func workerID(_ input: SettingsInput) -> String {
    let host = input.hostName.utf8.prefix(100).map { $0.isSafeInKey ? $0 : 0x2D }
    return "\(host.isEmpty ? "worker" : String(decoding: host, as: UTF8.self))-\(input.processID)"
  }
}

/// The findings of a load.
package struct SettingsReport: Sendable {
  /// In the order of the layers and, within the file, of its lines.
  package let findings: [SettingsFinding]
  /// The readable settings, defaults in the place of faulty ones: to go on looking for further
  /// problems, never to work with.
  package let read: Settings
  /// Every key with its value in `read` and where that comes from, in the order of the table.
  package let resolved: [ResolvedSetting]

  package var problems: [SettingsFinding] { findings.filter { $0.severity == .problem } }
  package var warnings: [SettingsFinding] { findings.filter { $0.severity == .warning } }

  /// The settings, unless there is a problem.
  package func settings() throws(SettingsError) -> Settings {
    guard problems.isEmpty else {
      throw SettingsError(code: .invalidConfiguration, problems: problems)
    }
    return read
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
