import YAML

/// What a load reads.
package struct SettingsInput: Sendable {
  /// The configuration file; nil for none.
  package var file: String?
  package var environment: [String: String]
  /// `--set key=value`, in order; a later one wins.
  package var overrides: [(key: String, value: String)]
  /// Unknown keys and the like are problems.
  package var denyWarnings: Bool
  package var requirements: SettingsRequirements
  /// For `worker.id` when it is not set.
  package var hostName: String
  package var processID: Int32

  package init(
    file: String? = nil, environment: [String: String] = [:],
    overrides: [(key: String, value: String)] = [], denyWarnings: Bool = false,
    requirements: SettingsRequirements = [], hostName: String = HostName.current,
    processID: Int32 = HostName.processID
  ) {
    self.file = file
    self.environment = environment
    self.overrides = overrides
    self.denyWarnings = denyWarnings
    self.requirements = requirements
    self.hostName = hostName
    self.processID = processID
  }
}

/// What a command cannot do without, beyond what every command needs.
package struct SettingsRequirements: OptionSet, Sendable {
  package let rawValue: Int
  package init(rawValue: Int) { self.rawValue = rawValue }

  /// `apns.key_file` and `apns.team_id`, or `apns.certificate_file`: whoever sends.
  package static let credentials = SettingsRequirements(rawValue: 1)
}

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
    SettingsRules(settings: settings, requirements: input.requirements).check(&layers)
    FileRules(settings: settings).check(&layers)
    if input.denyWarnings {
      for index in layers.findings.indices { layers.findings[index].severity = .problem }
    }
    return SettingsReport(
      findings: layers.findings, effective: layers.effectiveSettings(workerID: settings.worker.id),
      read: settings)
  }

  private static func directory(of file: String?) -> String {
    guard let file, let slash = file.lastIndex(of: "/") else { return "" }
    return slash == file.startIndex ? "/" : String(file[..<slash])
  }

  /// A host's name is letters, digits, `.` and `-`; whatever else it holds must not break a Redis
  /// key.
  private static func workerID(_ input: SettingsInput) -> String {
    let host = input.hostName.utf8.prefix(100).map { byte in
      byte > 0x20 && byte < 0x7F && byte != 0x7B && byte != 0x7D ? byte : 0x2D
    }
    return "\(host.isEmpty ? "worker" : String(decoding: host, as: UTF8.self))-\(input.processID)"
  }
}

/// What a load found.
package struct SettingsReport: Sendable {
  /// In the order of the layers and, within the file, of its lines.
  package let findings: [SettingsFinding]
  /// Every key with its value and where it came from, in the table's order.
  package let effective: [EffectiveSetting]
  /// What could be read, defaults in the place of what is wrong: to go on looking for further
  /// problems, never to work with.
  package let read: Settings

  init(findings: [SettingsFinding], effective: [EffectiveSetting], read: Settings) {
    self.findings = findings
    self.effective = effective
    self.read = read
  }

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
