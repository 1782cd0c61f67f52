import APNs
import Deliver
import Pipeline

/// The files that prove to Apple who we are, now and whenever others are put in their place.
package protocol CredentialFiles: Sendable {
  var credentials: APNsCredentials { get }
  /// Uses what is there now, if it can be used. Says each change once.
  func look() -> CredentialChange?
  /// Whether what was found last cannot be used.
  var isUnfit: Bool { get }
  /// Seconds since 1970; nil for what does not end.
  var expiresAt: Int64? { get }
}

extension ProviderCredentials: CredentialFiles {
  package var credentials: APNsCredentials { .key(tokens) }
  package var expiresAt: Int64? { nil }
}
