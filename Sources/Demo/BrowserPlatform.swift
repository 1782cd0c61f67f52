import Devices
import LocalStack
import TLS
import WebPushSimulator

extension DemoPlatform {
  /// Of the subscriptions, which the simulator makes out of it too.
  private static let seed: UInt64 = 1

  /// - Parameter share: of all devices, 0…1.
  package static func browsers(share: Double) throws(TLSError) -> DemoPlatform {
    let browsers = try SimulatedBrowsers(seed: seed)
    return DemoPlatform(
      title: "Browsers", local: .webpush(["--seed", "\(seed)"]),
      // As `webpush.vapid_key_id` has it by default.
      devices: SyntheticDevices(browsersOf: "main", share: share) { number, isDead in
        let made = browsers.subscription(number, isGone: isDead)
        return (made.endpoint, made.publicKey, made.secret)
      },
      goneReason: "Gone",
      retriedReasons: [
        "TooManyRequests", "ServerError", "ServiceUnavailable", "BadCredentials",
        "CredentialsMismatch",
      ], reasonNames: reasonNames)
  }

  /// Each service has words of its own: the simulator counts by its own, and the worker by others.
  private static let reasonNames = [
    "gone": "Gone", "unknown_subscription": "NotFound", "too_large": "PayloadTooLarge",
    "too_many": "TooManyRequests", "throttled": "TooManyRequests",
    "no_authorization": "BadCredentials", "bad_authorization": "BadCredentials",
    "bad_token": "BadCredentials", "bad_key": "BadCredentials",
    "other_key": "CredentialsMismatch", "redirect": "Redirected", "internal": "ServerError",
    "bad_gateway": "ServerError", "unavailable": "ServiceUnavailable",
  ]
}
