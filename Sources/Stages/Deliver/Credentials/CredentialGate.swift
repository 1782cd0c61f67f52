/// Whether our credentials are taken for one topic, as a pure machine. A refusal may be about the
/// key, about the topic, or, on some servers, about one device token: so other pushes are sent to
/// ask what it means (credential checks). None is rejected for it: whatever it is about, it is ours
/// to mend.
///
/// Only pushes that were sent after the first refusal count: what was in flight then says nothing
/// of what is taken since. Times are monotonic nanoseconds.
///
/// ```
/// open ─refused→ doubted ─taken→ open
///                   └─refused again→ held ─time→ doubted
/// ```
struct CredentialGate: Equatable {
  enum State: Equatable {
    case open
    /// A few checks at a time are sent, and nothing else of the topic.
    case doubted
    /// Until then none is sent, but a push for a device that was not refused yet.
    case held(until: UInt64)
  }

  private(set) var state = State.open
  /// It was held and no answer since showed that credentials are taken: an operator's matter.
  private(set) var isRefused = false
  private(set) var lastRefusedAt: UInt64?
  /// Since when nobody knows whether they are taken.
  private var doubtedAt: UInt64 = 0
  /// When it was first refused since it was open.
  private var refusedSince: UInt64 = 0
  private var refusalsInARow = 0
  /// Pushes refused since others were taken that had not been refused before.
  private var pushesRefused = 0
  /// In flight.
  private var checks = 0
  private var lastCheckAt: UInt64 = 0

  /// Refused twice while others are taken, it is about this push: nobody else is asked again.
  private static let refusalsOfOnePush = 2

  var isOpen: Bool { state == .open }
  /// Without a refusal in the past answers say nothing new.
  var isWatching: Bool { lastRefusedAt != nil }

  /// Whether the topic counts as closed: credentials are refused, or checks have had no answer for
  /// `limit` nanoseconds.
  func isClosed(at now: UInt64, after limit: UInt64) -> Bool {
    isRefused || (state == .doubted && now &- doubtedAt >= limit)
  }

  /// Whether a push may be sent now.
  /// - Parameter hasUntried: one that was not refused is ready.
  mutating func allows(at now: UInt64, hasUntried: Bool) -> Bool {
    switch state {
    case .open: return true
    case .doubted: return checks < Evidence.mostAsking
    case .held(let until):
      if now < until {
        // One token's refusals say nothing about others, and those of several little: a push that
        // was never refused may be of a healthy event, which must not wait out a hold for others'
        // sake: one asks now and then.
        guard hasUntried, checks < Evidence.mostAsking else { return false }
        return pushesRefused < 2 || now &- lastCheckAt >= Evidence.askAgainAfter
      }
      state = .doubted
      doubtedAt = now
      refusalsInARow = 0
      return checks < Evidence.mostAsking
    }
  }

  /// When `allows` may say yes without an answer coming first.
  var opensAt: UInt64? {
    guard case .held(let until) = state else { return nil }
    return until
  }

  mutating func checkSent(at now: UInt64) {
    checks += 1
    lastCheckAt = now
  }
  mutating func checkReturned() { checks = max(0, checks - 1) }

  /// An answer that only good credentials get. Returns whether it ends a doubt.
  mutating func taken(sentAt: UInt64) -> Bool {
    guard sentAt >= refusedSince else { return false }
    isRefused = false
    refusalsInARow = 0
    pushesRefused = 0
    guard state != .open else { return false }
    state = .open
    return true
  }

  /// Whether a refusal is about its push alone: others' credentials are taken since the one before.
  /// - Parameter refusals: of this push, this one among them.
  func isAboutOnePush(refusals: Int) -> Bool {
    state == .open && isWatching && refusals >= Self.refusalsOfOnePush
  }

  /// The push waits and is sent again.
  /// - Parameters:
  ///   - refusals: of this push, this one among them.
  ///   - hold: nanoseconds.
  /// - Returns: until when nobody is asked; nil while others are.
  mutating func refused(
    refusals: Int, sentAt: UInt64, at now: UInt64, hold: UInt64
  ) -> UInt64? {
    let isAboutOnePush = isAboutOnePush(refusals: refusals)
    lastRefusedAt = now
    if isAboutOnePush { return nil }
    // Also of what was in flight: refusals of several tokens are not about one.
    if refusals <= 1 { pushesRefused += 1 }
    if state == .doubted, sentAt < refusedSince { return nil }
    refusalsInARow += 1
    switch state {
    case .held(let until): return until
    case .open:
      state = .doubted
      doubtedAt = now
      refusedSince = now
      return nil
    case .doubted:
      // A push is its own check only when there is no other to ask.
      let isAlone = refusals >= Self.refusalsOfOnePush && checks == 0
      guard refusalsInARow >= Evidence.mostAsking || isAlone else { return nil }
      state = .held(until: now &+ hold)
      isRefused = true
      return now &+ hold
    }
  }
}
