import Model
import Text

/// Which subscriptions are taken.
package struct SubscriptionRules: Sendable, Equatable {
  package let endpoints: EndpointRules
  /// Ids of our VAPID key pairs; the first is for subscriptions that do not say theirs.
  package let keyIDs: [String]

  package init(endpoints: EndpointRules = EndpointRules(), keyIDs: [String] = ["main"]) {
    self.endpoints = endpoints
    self.keyIDs = keyIDs
  }
}

/// A browser's subscription, checked, as the binding of a user (Push API: `PushSubscription`).
package struct BrowserSubscription: Sendable, Equatable {
  /// Why a subscription is refused: a sentence without the endpoint.
  package struct Problem: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
  }

  package static let maximumKeyIDBytes = 64
  package static let keyIDRule = "1 to \(maximumKeyIDBytes) letters, digits, '.', '_' or '-'"

  package let binding: Binding

  /// - Parameters:
  ///   - topic: the app's, as events name it.
  ///   - keyID: of the VAPID key pair whose public key the browser was given; nil: the current one.
  package init(
    topic: String, endpoint: String, p256dh: String, auth: String, keyID: String?,
    rules: SubscriptionRules
  ) throws(Problem) {
    try Self.check(endpoint: endpoint, rules)
    let keys: SubscriptionKeys
    do throws(SubscriptionKeys.Problem) {
      keys = try SubscriptionKeys(p256dh: p256dh, auth: auth)
    } catch {
      throw Problem(description: "\(error)")
    }
    guard let id = keyID ?? rules.keyIDs.first, rules.keyIDs.contains(id) else {
      throw Problem(
        description: "no VAPID key pair of ours has this id: there "
          + (rules.keyIDs.count == 1 ? "is " : "are ") + rules.keyIDs.joined(separator: ", "))
    }
    let binding = Binding(
      destination: .webpush, topic: topic, keys: keys.text(keyID: id), token: endpoint)
    guard let binding else {
      throw Problem(description: "the topic must be letters, digits, '.' and '-'")
    }
    self.binding = binding
  }

  /// The same browser's subscription before, of which only the endpoint is known: it has this one's
  /// keys. Whoever takes it out looks for the endpoint.
  package func former(endpoint: String, rules: SubscriptionRules) throws(Problem) -> Binding {
    try Self.check(endpoint: endpoint, rules)
    return Binding(
      destination: .webpush, topic: binding.topic, keys: binding.keys, token: endpoint) ?? binding
  }

  private static func check(endpoint: String, _ rules: SubscriptionRules) throws(Problem) {
    do throws(PushEndpoint.Problem) {
      _ = try PushEndpoint(endpoint, rules: rules.endpoints)
    } catch {
      throw Problem(description: "\(error)")
    }
  }

  package static func isKeyID(_ text: String) -> Bool {
    (1...maximumKeyIDBytes).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0.isASCIIWord || "._-".utf8.contains($0) }
  }
}
