import Devices
import FCMSimulator
import LocalStack

extension DemoPlatform {
  /// - Parameter share: of all devices, 0…1.
  package static func android(share: Double) -> DemoPlatform {
    DemoPlatform(
      title: "Android", local: .fcm(),
      // The simulator says of these tokens that they are gone, on every try.
      devices: SyntheticDevices(
        .fcm, share: share, deadTokenPrefix: MagicTokens.token(.unregistered) + ":"),
      goneReason: "UNREGISTERED",
      // Refusals without an error code: of the access token, or of a proxy.
      retriedReasons: ["QUOTA_EXCEEDED", "INTERNAL", "UNAVAILABLE", "none"])
  }
}
