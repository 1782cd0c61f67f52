import Model

/// Which account the pushes of an app go with, on each platform. A connection is bound to one
/// account, so each has connections of its own.
package struct AppCredentials: Sendable {
  package struct Item: Sendable {
    /// The name by which operators know it; nil where there is but one.
    package let name: String?
    package let account: any PlatformAccount

    package init(name: String?, _ account: any PlatformAccount) {
      self.name = name
      self.account = account
    }
  }

  private struct App: Hashable {
    let platform: String
    let id: String
  }

  /// Each once, however many apps they are of.
  package private(set) var all: [Item]
  /// Indexes into `all`, by bundle id.
  private var apps: [App: Int] = [:]
  /// Of the apps that are not named, by platform; none: there is nothing to send their pushes with.
  private var others: [String: Int] = [:]

  /// The same for every app.
  package init(_ account: any PlatformAccount) {
    self.init([Item(name: nil, account)], apps: [:], others: 0)
  }

  /// - Parameters:
  ///   - apps: the index of each app's in `all`, by bundle id.
  ///   - others: the index of those of all other apps.
  package init(_ all: [Item], apps: [String: Int], others: Int?) {
    self.all = all
    for (id, index) in apps {
      self.apps[App(platform: all[index].account.platform, id: id)] = index
    }
    if let others { self.others[all[others].account.platform] = others }
  }

  /// With the accounts of another platform.
  package func adding(_ more: AppCredentials) -> AppCredentials {
    var both = self
    both.all += more.all
    both.apps.merge(more.apps.mapValues { $0 + all.count }) { $1 }
    both.others.merge(more.others.mapValues { $0 + all.count }) { $1 }
    return both
  }

  /// The index in `all` of what pushes of a topic go with, be it with a push type's suffix or
  /// without; nil: there is nothing.
  package func index(of topic: String, on platform: String) -> Int? {
    let others = others[platform]
    guard !apps.isEmpty else { return others }
    return TopicApp.candidates(of: topic).lazy
      .compactMap { apps[App(platform: platform, id: $0)] }.first ?? others
  }

  package func account(of topic: String, on platform: String) -> (any PlatformAccount)? {
    index(of: topic, on: platform).map { all[$0].account }
  }
}
