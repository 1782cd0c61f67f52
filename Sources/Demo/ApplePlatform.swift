import APNsSimulator
import Devices
import LocalStack

extension DemoPlatform {
  /// - Parameter share: of all devices, 0…1.
  package static func apple(share: Double) -> DemoPlatform {
    DemoPlatform(
      title: "Apple", local: .apns(["--topic", LocalStack.app]),
      // The simulator says of these tokens that they are gone since now, on every try.
      devices: SyntheticDevices(
        .production, share: share, deadTokenPrefix: MagicTokens.prefix + "0410"),
      goneReason: "Unregistered",
      retriedReasons: [
        "TooManyRequests", "TooManyProviderTokenUpdates", "ExpiredProviderToken",
        "InvalidProviderToken", "MissingProviderToken", "InternalServerError",
        "ServiceUnavailable", "Shutdown", "IdleTimeout",
      ])
  }
}
