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
