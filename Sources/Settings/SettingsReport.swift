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
