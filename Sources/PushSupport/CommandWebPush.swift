import Assembly
import Deliver
import JSON
import Model
import Settings
import Subscriptions
import Terminal
import VerbSupport
import WebPush

/// Where a command asks push services, and as whom.
package struct CommandWebPush: Sendable {
  package typealias Single = WebPushKeyFiles.Single

  /// Of a message before it is encrypted.
  package static let maximumMessageBytes = MessageEncryptor.maximumMessageBytes

  package let files: WebPushKeyFiles
  package let target: RouteTarget
  private let rules: SubscriptionRules

  package init(_ settings: Settings) throws(CommandFailure) {
    let files: WebPushKeyFiles?
    let target: RouteTarget?
    do {
      files = try WebPushKeyFiles(settings)
      target = try Assembly.deliverRoutes(settings)[.webpush]
    } catch {
      throw CommandFailure(error)
    }
    guard let files, let target else {
      throw CommandFailure(
        .config,
        "there is no VAPID key pair: set webpush.vapid_key_file and webpush.subject "
          + "(docs/webpush.md)")
    }
    self.files = files
    self.target = target
    rules = Assembly.subscriptionRules(settings)
  }

  /// The parts that name a browser's subscription.
  package struct Subscription: Sendable, Equatable {
    package let endpoint: String
    package let p256dh: String
    package let auth: String

    package init(endpoint: String, p256dh: String, auth: String) {
      self.endpoint = endpoint
      self.p256dh = p256dh
      self.auth = auth
    }

    /// - Parameter json: of `PushSubscription.toJSON()`; other members are passed over.
    package init(json: String) throws(CommandFailure) {
      let object = (try? JSONValue.parse(Array(json.utf8)))?.object
      let keys = object?["keys"]?.object
      guard let endpoint = object?["endpoint"]?.string, let p256dh = keys?["p256dh"]?.string,
        let auth = keys?["auth"]?.string
      else {
        throw CommandFailure(
          .usage,
          "the subscription must be the JSON of PushSubscription: endpoint, and keys with p256dh "
            + "and auth")
      }
      self.init(endpoint: endpoint, p256dh: p256dh, auth: auth)
    }
  }

  /// Checks a subscription by the rules of the settings.
  /// - Parameters:
  ///   - topic: the app's.
  ///   - keyID: of the VAPID key pair that it was made with; nil: the current one.
  package func binding(
    of subscription: Subscription, topic: String, keyID: String?
  ) throws(CommandFailure) -> Binding {
    do throws(BrowserSubscription.Problem) {
      return try BrowserSubscription(
        topic: topic, endpoint: subscription.endpoint, p256dh: subscription.p256dh,
        auth: subscription.auth, keyID: keyID, rules: rules
      ).binding
    } catch {
      throw CommandFailure(.usage, "\(error)")
    }
  }
}
