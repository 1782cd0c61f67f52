/// State that the legacy gateway and its feedback service share: the connections, and the tokens
/// that are gone.
final class BinaryState {
  /// Beyond it the oldest are forgotten.
  private static let feedbackLimit = 100_000

  /// In the order in which they came.
  var connections: [(connection: ObjectIdentifier, close: () -> Void)] = []
  private var feedback: [[UInt8]] = []

  /// - Parameter since: ms since 1970; the service tells seconds.
  func isGone(_ token: [UInt8], since: Int64) {
    if feedback.count >= Self.feedbackLimit { feedback.removeFirst() }
    let seconds = UInt32(clamping: since / 1000)
    let time = (0..<4).map { UInt8(truncatingIfNeeded: seconds >> (24 - 8 * $0)) }
    feedback.append(time + [0, UInt8(clamping: token.count)] + token)
  }

  /// Who has been told hears nothing of it again.
  func takeFeedback() -> [UInt8] {
    defer { feedback = [] }
    return feedback.flatMap { $0 }
  }
}
