import Settings

/// Apps of one project of Firebase, whose access tokens come from one source: they share an
/// account, and its connections.
package struct FCMGroup: Sendable {
  /// With the limit of messages that counts for it.
  package let account: Settings.FCM.Account
  /// Names; those that are not named by `fcm.apps` are not among them.
  package private(set) var apps: [String] = []
  /// Also of all apps that `fcm.apps` does not name.
  package private(set) var isOfOthers = false

  /// Of the settings that the account comes from.
  package var prefix: String { apps.first.map { "fcm.apps.\($0)." } ?? "fcm." }

  /// The setting that says where its tokens come from.
  package var key: String { prefix + (account.sources.first ?? "service_account_file") }

  /// For operators.
  package var name: String {
    (apps + (isOfOthers ? ["other apps"] : [])).joined(separator: ", ")
  }

  /// In the order of the apps; none where nothing goes to Android.
  package static func all(_ fcm: Settings.FCM) -> [FCMGroup] {
    var groups: [FCMGroup] = []
    func find(_ account: Settings.FCM.Account) -> Int {
      var account = account
      account.messagesPerMinute = account.messagesPerMinute ?? fcm.messagesPerMinute
      if let known = groups.firstIndex(where: { $0.account == account }) { return known }
      groups.append(FCMGroup(account: account))
      return groups.count - 1
    }
    for (app, account) in fcm.apps.sorted(by: { $0.key < $1.key }) {
      let index = find(account)
      groups[index].apps.append(app)
    }
    if !fcm.account.sources.isEmpty {
      let index = find(fcm.account)
      groups[index].isOfOthers = true
    }
    return groups
  }

  init(account: Settings.FCM.Account) { self.account = account }
}
