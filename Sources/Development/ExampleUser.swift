import Devices
import LocalStack
import Model
import Processes
import ServerProcesses
import Subscriptions
import TLS
import WebPushSimulator

/// Ken, who follows the example's streamer with one device of each platform.
struct ExampleUser {
  struct Device {
    let title: String
    let binding: Binding
    /// The number of its simulator among those of the stack.
    let simulator: Int
  }

  static let name = "ken"
  /// Of the browsers' simulator, which makes subscriptions out of it.
  static let seed: UInt64 = 1
  /// Far behind those of the invented followers. It is Mozilla's, not Google's.
  private static let browserNumber = 1_000_001

  let devices: [Device]

  init() throws(LocalRunError) {
    let apple = "aabbccddeeff00112233445566778899aabbccddeeff00112233445566778899"
    let android = "ken-android-phone:APA91b-an-example-token-that-the-simulator-takes"
    let made: SimulatedSubscription
    do {
      made = try SimulatedBrowsers(seed: Self.seed).subscription(Self.browserNumber, isGone: false)
    } catch {
      throw LocalRunError(.failed, "a browser's keys cannot be made: \(error)")
    }
    let keys = SubscriptionKeys.text(
      publicKey: made.publicKey, secret: made.secret, keyID: Self.keyID)
    let given: [(String, Destination, String, String)] = [
      ("iPhone", .production, "", apple), ("Android", .fcm, "", android),
      ("browser", .webpush, keys, made.endpoint),
    ]
    devices = given.enumerated().compactMap { number, device in
      Binding(
        destination: device.1, topic: LocalStack.app, keys: device.2, token: device.3
      ).map { Device(title: device.0, binding: $0, simulator: number) }
    }
    guard devices.count == given.count else {
      throw LocalRunError(.failed, "OpenSSL makes no keys for the example's browser")
    }
  }

  /// As `webpush.vapid_key_id` has it by default.
  private static let keyID = "main"

  /// - Parameter boundAt: ms since 1970.
  func row(boundAt: Int64) -> AudienceRow {
    AudienceRow(
      user: Self.name,
      profile: [(name: "name", value: "Ken"), (name: "locale", value: "en")],
      bindings: devices.map(\.binding), boundAt: boundAt)
  }
}
