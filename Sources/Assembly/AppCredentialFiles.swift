import Deliver
import Pipeline
import Settings

/// The files of all credentials that are configured: those of `apns.apps`, and those of all other
/// apps.
package struct AppCredentialFiles: Sendable {
  private let all: [(name: String?, files: any CredentialFiles)]
  package let credentials: AppCredentials

  package init(_ settings: Settings) throws(SettingsError) {
    let groups = CredentialGroup.all(settings)
    var all: [(name: String?, files: any CredentialFiles)] = []
    var places: [String: Int] = [:]
    for (place, group) in groups.enumerated() {
      for app in group.apps { places[app] = place }
      all.append((groups.count > 1 ? group.name : nil, try group.open(settings.apns)))
    }
    self.all = all
    credentials = AppCredentials(
      all.map { AppCredentials.Item(name: $0.name, $0.files.credentials) }, apps: places,
      others: groups.firstIndex(where: \.isOfOthers))
  }

  /// Uses what is there now, if it can be used. Says each change once.
  package func look() -> [CredentialChange] {
    all.compactMap { name, files in files.look().map { $0.of(name) } }
  }

  /// Of those that cannot be used as they were found last.
  package var unfitCount: Int { all.count { $0.files.isUnfit } }

  /// Seconds since 1970, of those that end first; nil when none do.
  package var expiresAt: Int64? { all.compactMap { $0.files.expiresAt }.min() }
}
