import Assembly
import Deliver
import Settings
import Terminal
import VerbSupport

/// Where a command asks FCM, and as whom.
package struct CommandFCM: Sendable {
  package let files: FCMCredentialFiles
  package let target: RouteTarget

  /// - Parameter app: whose project is meant; nil: the one that there is, or that of all apps that
  ///   `fcm.apps` does not name.
  package init(_ settings: Settings, app: String?) throws(CommandFailure) {
    let all: [FCMCredentialFiles]
    let target: RouteTarget?
    do {
      all = try FCMCredentialFiles.all(settings)
      target = try Assembly.deliverRoutes(settings)[.fcm]
    } catch {
      throw CommandFailure(error)
    }
    guard let target, !all.isEmpty else {
      throw CommandFailure(
        .config,
        "there are no credentials for Firebase: set fcm.service_account_file, or another source "
          + "of tokens (docs/fcm.md)")
    }
    self.target = target
    let own = all.first { files in app.map(files.group.apps.contains) ?? (all.count == 1) }
    guard let found = own ?? all.first(where: \.group.isOfOthers) else {
      throw CommandFailure(
        app == nil ? .usage : .config,
        app.map { "there is no project for \($0): it is not in fcm.apps, and there is no other" }
          ?? "--app is needed: fcm.apps has projects of several apps")
    }
    files = found
  }
}
