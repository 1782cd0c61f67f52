/// Settings that a command cannot do without, beyond those that every command needs.
package struct SettingsRequirements: OptionSet, Sendable {
  package let rawValue: Int
  package init(rawValue: Int) { self.rawValue = rawValue }

  /// `apns.key_file` and `apns.team_id`, or `apns.certificate_file`: whoever sends.
  package static let credentials = SettingsRequirements(rawValue: 1)
}
