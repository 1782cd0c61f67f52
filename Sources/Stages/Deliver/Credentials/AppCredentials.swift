import Model

/// Which account the pushes of an app go with, on each platform. A connection is bound to one
/// account, so each has connections of its own.
package struct AppCredentials: Sendable {
  package struct Item: Sendable {
    enum Way: Sendable {
      case account(any PlatformAccount)
      /// Each server has an account of its own.
      case services(any PushServices)
    }

    /// The name by which operators know it; nil where there is but one.
    package let name: String?
    let way: Way

    package init(name: String?, _ account: any PlatformAccount) {
      self.name = name
      way = .account(account)
    }

    package init(name: String?, services: any PushServices) {
      self.name = name
      way = .services(services)
    }

    package var platform: String {
      switch way {
      case .account(let account): account.platform
      case .services(let services): services.platform
      }
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

  /// As above, of a platform with many servers.
  package init(_ services: any PushServices) {
    self.init([Item(name: nil, services: services)], apps: [:], others: 0)
  }

  /// - Parameters:
  ///   - apps: the index of each app's in `all`, by bundle id.
  ///   - others: the index of those of all other apps.
  package init(_ all: [Item], apps: [String: Int], others: Int?) {
    self.all = all
    for (id, index) in apps {
      self.apps[App(platform: all[index].platform, id: id)] = index
    }
    if let others { self.others[all[others].platform] = others }
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

  /// Nil as well where each server has an account of its own.
  package func account(of topic: String, on platform: String) -> (any PlatformAccount)? {
    guard let index = index(of: topic, on: platform), case .account(let account) = all[index].way
    else { return nil }
    return account
  }
}
