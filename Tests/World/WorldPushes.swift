import APNsSimulator

/// Who hears of pushes: set after the simulator is made.
///
/// Unchecked: confined to its world's thread.
final class WorldPushes: @unchecked Sendable {
  var observe: ((ObservedPush) -> Void)?
}
