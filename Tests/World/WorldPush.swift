import APNsSimulator

/// A platform that devices of a world are of.
package enum WorldPlatform: String, CaseIterable, Sendable, Hashable {
  case apple, fcm, webpush
}

/// A request for a device that reached its push service, whichever it is. The bytes are good until
/// the call returns.
package struct WorldPush {
  /// The service's answer, unless the connection ends before.
  package enum Answer: Sendable, Equatable {
    case accepted
    /// The reason is the word that workers count such an answer by.
    case refused(status: Int, reason: String)
    /// A reset, silence, or the end of the connection.
    case unanswered
  }

  package let platform: WorldPlatform
  /// The number of its `WorldDevice`.
  package let device: Int
  package let payload: UnsafeRawBufferPointer
  package let answer: Answer

  init(
    _ platform: WorldPlatform, device: Int, payload: UnsafeRawBufferPointer, _ answer: Answer
  ) {
    self.platform = platform
    self.device = device
    self.payload = payload
    self.answer = answer
  }

  init(_ push: ObservedPush) {
    let answer: Answer =
      switch push.answer {
      case .accept: .accepted
      case .refuse(let refusal): .refused(status: refusal.status, reason: refusal.reason)
      case .reset, .silence, .drop: .unanswered
      }
    self.init(
      .apple, device: WorldDevice.number(ofToken: push.token), payload: push.payload, answer)
  }
}

/// Whoever hears of the pushes of a world.
///
/// Unchecked: confined to its world's thread.
final class PushObserver: @unchecked Sendable {
  var hear: ((WorldPush) -> Void)?
}
