/// What a connection's refusals make of it. Apple: 4xx must slow a provider down; too many errors
/// end the connection, BadDeviceToken sooner than others, and 410 is not counted ("Handling
/// notification responses from APNs"). That the limit of streams falls first is what providers
/// report (pushy #476 and #732, openradar 27870881).
struct CountedErrors {
  /// Apple gives no number: a BadDeviceToken counts as so many.
  static let badDeviceToken = 4

  enum Consequence: Equatable {
    case none
    /// Its limit of streams has changed.
    case cut
    case end
  }

  private var count = 0
  private var cuts = 0

  mutating func refused(_ refusal: Refusal, _ script: SimulatorScript) -> Consequence {
    guard (400...499).contains(refusal.status), refusal.status != 410 else { return .none }
    let isBadToken = refusal.reason == AppleReason.badDeviceToken.rawValue
    count += isBadToken ? Self.badDeviceToken : 1
    if let limit = script.endAfter, count >= limit { return .end }
    guard let limit = script.cutAfter, count / limit > cuts else { return .none }
    cuts = count / limit
    return .cut
  }

  /// Halved with each cut, down to one stream.
  func streamLimit(of limit: Int) -> Int { max(min(limit, 1), limit >> cuts) }
}
