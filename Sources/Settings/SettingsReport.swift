import YAML

/// The findings of a load.
package struct SettingsReport: Sendable {
  /// In the order of the layers and, within the file, of its lines.
  package let findings: [SettingsFinding]
  /// Every key with its value and where it came from, in the table's order.
  package let effective: [EffectiveSetting]
  /// The readable settings, defaults in the place of faulty ones: to go on looking for further
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

/// One key's value in force and where it came from; a secret's text is not in it.
package struct EffectiveSetting: Sendable {
  package let path: String
  /// As YAML writes it; nil when the key is not set.
  package let value: String?
  package let source: SettingSource

  init(key: SettingKey, value: SettingValue?, source: SettingSource) {
    path = key.path
    self.source = source
    guard let value else {
      self.value = nil
      return
    }
    if key.kind.isSecret {
      self.value = Secret("").description
    } else if case .map(let entries) = value {
      let shown = entries.map { name, text in
        (name, KafkaProperties.isSecret(name) ? Secret("").description : text)
      }
      self.value = key.kind.yaml(.map(Dictionary(uniqueKeysWithValues: shown)))
    } else {
      self.value = key.kind.yaml(value)
    }
  }
}

extension SettingsReport {
  /// Every key, its value in force and its source, one a line; secrets redacted.
  package func explain() -> String {
    let width = effective.map { $0.path.count }.max() ?? 0
    return effective.map { setting in
      let name = setting.path + String(repeating: " ", count: width - setting.path.count)
      return "\(name)  \(setting.value ?? "(not set)")  # \(setting.source)\n"
    }.joined()
  }
}
