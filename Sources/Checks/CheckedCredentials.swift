import APNs
import Deliver

/// Credentials whose files are in order, to be shown to Apple.
struct CheckedCredentials {
  /// Of the apps that they are of; nil where there are no others.
  let name: String?
  /// Of the settings that they come from.
  let prefix: String
  let credentials: APNsCredentials

  var isCertificate: Bool { if case .certificate = credentials { true } else { false } }
}
