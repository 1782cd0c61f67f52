extension Settings.FCM {
  /// A project of Firebase, and from where its access tokens come.
  package struct Account: Sendable, Hashable {
    package var serviceAccountFile: String?
    package var tokenFile: String?
    /// A program and its arguments; empty: none.
    package var tokenCommand: [String] = []
    /// The metadata server has them.
    package var metadata = false
    /// nil: the service account's, or the machine's.
    package var project: String?
    /// Of all workers; 0: any number; nil: as all projects.
    package var messagesPerMinute: Int?

    package init() {}

    /// The settings that say where tokens come from, without their prefix: one of them, where the
    /// configuration is sound.
    package var sources: [String] {
      [
        ("service_account_file", serviceAccountFile != nil), ("token_file", tokenFile != nil),
        ("token_command", !tokenCommand.isEmpty), ("metadata", metadata),
      ].filter(\.1).map(\.0)
    }
  }

  /// Of all apps that `apps` does not name.
  package var account: Account {
    var account = Account()
    account.serviceAccountFile = serviceAccountFile
    account.tokenFile = tokenFile
    account.tokenCommand = tokenCommand
    account.metadata = metadata
    account.project = project
    account.messagesPerMinute = messagesPerMinute
    return account
  }
}

/// The settings of an account of Firebase that go together.
struct FCMAccountRules {
  private let account: Settings.FCM.Account
  /// Of the keys: `fcm.`, or `fcm.apps.<app>.`.
  private let prefix: String
  private let isOfApp: Bool

  /// - Parameter app: nil: all that have none of their own.
  init(_ account: Settings.FCM.Account, of app: String? = nil) {
    self.account = account
    prefix = app.map { "fcm.apps.\($0)." } ?? "fcm."
    isOfApp = app != nil
  }

  private func key(_ field: String) -> String { prefix + field }

  /// Of all apps together: a mapping is of one layer.
  private func source(_ field: String, _ layers: SettingsLayers) -> SettingSource {
    layers.source(of: isOfApp ? "fcm.apps" : key(field))
  }

  func check(_ layers: inout SettingsLayers) {
    let sources = account.sources
    guard let first = sources.first else {
      if isOfApp {
        layers.add(
          .problem, source("service_account_file", layers), key: key("service_account_file"),
          "is not set: sending needs it, or token_file, token_command or metadata")
      }
      return
    }
    for other in sources.dropFirst() {
      let places = (source(first, layers), source(other, layers))
      layers.add(
        .problem, places.1.rank < places.0.rank ? places.0 : places.1, key: key(other),
        "does not go with \(key(first)): one of them says who we are")
    }
    if ["token_file", "token_command"].contains(first), account.project == nil {
      layers.add(
        .problem, source(first, layers), key: key(first),
        "needs \(key("project")): the token does not say which project it is for")
    }
  }
}
