import Model

/// Whose credentials the pushes of an app go with. A connection is bound to one team, or to one
/// certificate ("Establishing a connection to APNs"), so each has connections of its own.
package struct AppCredentials: Sendable {
  package struct Item: Sendable {
    /// What operators know it by; nil where there is but one.
    package let name: String?
    package let credentials: APNsCredentials

    package init(name: String?, _ credentials: APNsCredentials) {
      self.name = name
      self.credentials = credentials
    }
  }

  /// Each once, however many apps they are of.
  package let all: [Item]
  /// Places in `all`, by bundle id.
  private let places: [String: Int]
  /// Of the apps that are not named; nil: there is nothing to send their pushes with.
  private let others: Int?

  /// The same for every app.
  package init(_ credentials: APNsCredentials) {
    self.init([Item(name: nil, credentials)], apps: [:], others: 0)
  }

  /// - Parameters:
  ///   - apps: the place of each app's in `all`, by bundle id.
  ///   - others: the place of those of all other apps.
  package init(_ all: [Item], apps: [String: Int], others: Int?) {
    self.all = all
    places = apps
    self.others = others
  }

  /// Where in `all` those are that pushes of a topic go with, be it with a push type's suffix or
  /// without; nil: there are none.
  package func place(of topic: String) -> Int? {
    guard !places.isEmpty else { return others }
    return TopicApp.candidates(of: topic).lazy.compactMap { places[$0] }.first ?? others
  }

  package func credentials(of topic: String) -> APNsCredentials? {
    place(of: topic).map { all[$0].credentials }
  }
}
