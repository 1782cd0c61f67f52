/// Pushes that were accepted, counted while the answers that came together are judged: what follows
/// from them for all others is worked out once.
struct AcceptedAnswers {
  private let rateSince: UInt64
  private(set) var count = 0
  /// Of pushes that were sent at the present rate of `Overload`.
  private(set) var atThisRate = 0
  /// Of pushes that were never lost with a connection.
  private(set) var ordinary = 0
  /// Of pushes that were sent for the first time.
  private(set) var firsts = 0
  /// What those that were not had been answered before.
  private(set) var refusals = 0

  init(rateSince: UInt64) { self.rateSince = rateSince }

  mutating func add(_ push: ReadyPush, sentAt: UInt64) {
    count += 1
    if sentAt >= rateSince { atThisRate += 1 }
    if push.history.losses == 0 { ordinary += 1 }
    if push.isAnotherTry { refusals += RefusalShare.refusals(of: push) } else { firsts += 1 }
  }
}
