import Settings

/// Apps with the same credentials: a connection is bound to these, so they share it.
package struct CredentialGroup: Sendable {
  package let settings: Settings.APNs.Credentials
  /// Bundle ids; those that are not named by `apns.apps` are not among them.
  package private(set) var apps: [String] = []
  /// Also of all apps that `apns.apps` does not name.
  private(set) var isOfOthers = false

  /// Of the settings that the credentials come from.
  package var prefix: String { apps.first.map { "apns.apps.\($0)." } ?? "apns." }

  /// For operators.
  package var name: String {
    (apps + (isOfOthers ? ["other apps"] : [])).joined(separator: ", ")
  }

  /// In the order of the bundle ids; one that is empty, where nothing is set; none where pushes go
  /// to Android or browsers alone.
  package static func all(_ settings: Settings) -> [CredentialGroup] {
    let apns = settings.apns
    var groups: [CredentialGroup] = []
    func find(_ credentials: Settings.APNs.Credentials) -> Int {
      if let known = groups.firstIndex(where: { $0.settings == credentials }) { return known }
      groups.append(CredentialGroup(settings: credentials))
      return groups.count - 1
    }
    for (app, credentials) in apns.apps.sorted(by: { $0.key < $1.key }) {
      let place = find(credentials)
      groups[place].apps.append(app)
    }
    if !apns.credentials.isEmpty || groups.isEmpty && !settings.sendsElsewhere {
      let place = find(apns.credentials)
      groups[place].isOfOthers = true
    }
    return groups
  }

  init(settings: Settings.APNs.Credentials) { self.settings = settings }

  package func open(_ apns: Settings.APNs) throws(SettingsError) -> any CredentialFiles {
    guard settings.certificateFile == nil else { return try CertificateCredentials(self, apns) }
    return try ProviderCredentials(self, apns)
  }
}
