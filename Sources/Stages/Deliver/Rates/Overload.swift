import Text

/// How much is sent to a server that takes only part of it and answers the rest with "not now": a
/// 5xx, a refused stream. Its own answers say how much it takes: what was taken in a while is what
/// is sent in the next, a little less at first and then more again. A server in order has no bound
/// here.
///
/// The SRE book's throttle (requests < K × accepts) was tried in its place: at twice what a server
/// takes, 545 requests of 2,000 pushes are in vain with K = 1.1 and 1,739 with K = 2, against 282
/// here; and of 60 % random refusals it leaves 6 % and 14 % of the goodput, against 26 %.
///
/// A pure machine; times are monotonic nanoseconds.
struct Overload {
  /// Pushes a second that go on asking a server that takes none.
  static let floor = 10.0
  /// Failures that are fewer than this part of all answers are a matter of single pushes.
  private static let rare = 10
  /// Answers that are remembered for that.
  private static let remembered = 256
  /// Answers are looked at over so long, and longer while they are too few to say anything.
  private static let round: UInt64 = 200_000_000
  private static let longestRound: UInt64 = 1_000_000_000
  private static let enoughAnswers = 20
  /// So many failures in a round are worth a bound, and half as many a lower one where the bound
  /// decided how much was sent in it: those of the last few pushes of a fan-out say nothing.
  private static let worthBounding = 10
  /// Of the rate that the server took last: it has pushes in hand to work off.
  private static let caution = 0.9
  /// Each round in a row without trouble adds this part to what the next round adds.
  private static let step = 0.05
  /// Where no ceiling is known, the next round is sent so many times as much.
  private static let leap = 4.0
  /// Where more than this fails of less, still less is tried first: while a server uses up what it
  /// had saved for a burst, it looks as if less did not help.
  private static let bearable = 0.7
  /// Where more than this fails, nothing is taken, and more is not tried.
  private static let nearlyAll = 0.9
  /// Trouble that is older says nothing.
  private static let memory: UInt64 = 60_000_000_000

  private var lately = DecayingRatio()

  /// Pushes a second; nil: no bound.
  private(set) var rate: Double?
  /// Pushes a second that the server took when it was overloaded last; infinite before that.
  private var ceiling = Double.infinity
  private var growth = 0.0
  private(set) var loweredAt: UInt64 = 0
  /// Failures when the rate was lowered, until it is seen whether that helps.
  private var before: DecayingRatio?
  private var sinceLowered = DecayingRatio()
  /// The share that fails at a lower rate too, and so has another cause.
  private var usual = DecayingRatio()

  /// Pushes a second that the server took in the last round.
  private var lastTaken = 0.0
  private var bucket = TokenBucket()
  /// More was ready in this round than might go.
  private var isLimiting = false

  private var roundSince: UInt64 = 0
  private var current = DecayingRatio()

  /// As little is sent as ever.
  var isAtFloor: Bool { rate == Self.floor }

  /// Nearly all pushes are taken lately: one that is not may be at fault itself.
  var isRare: Bool { lately.failures * Self.rare < lately.answers }

  // MARK: answers

  mutating func answered(isFailure: Bool, sentAt: UInt64, at now: UInt64) {
    answered(1, atThisRate: sentAt >= loweredAt ? 1 : 0, areFailures: isFailure, at: now)
  }

  /// As above for several answers of one kind.
  /// - Parameter recent: those of pushes that were sent at the present rate, since `loweredAt`:
  ///   what was sent before says nothing of it.
  mutating func answered(
    _ count: Int, atThisRate recent: Int, areFailures: Bool = false, at now: UInt64
  ) {
    lately.add(count, failures: areFailures ? count : 0, remembering: Self.remembered)
    guard recent > 0 else { return }
    if current.answers == 0 || now &- roundSince > 2 * Self.longestRound { beginRound(now) }
    current.add(DecayingRatio(answers: recent, failures: areFailures ? recent : 0))
    let elapsed = now &- roundSince
    guard elapsed >= Self.round,
      current.answers >= Self.enoughAnswers || elapsed >= Self.longestRound
    else { return }
    judge(elapsed, now)
    beginRound(now)
  }

  private mutating func beginRound(_ now: UInt64) {
    roundSince = now
    current = DecayingRatio()
    isLimiting = false
  }

  /// Of what an overloaded server is sent, a greater part fails the more it is; what fails by
  /// chance is the same part of any number. So the rate is lowered once, and not again before
  /// enough answers show what fails of less; that, and not zero, is what more is compared to.
  private mutating func judge(_ elapsed: UInt64, _ now: UInt64) {
    lastTaken = taken(elapsed)
    if let before {
      sinceLowered.add(current)
      guard Double(sinceLowered.answers) * before.share >= Double(Self.worthBounding)
      else { return }
      guard sinceLowered.share <= Self.bearable || rate == Self.floor
      else { return lower(elapsed, now) }
      usual = sinceLowered
      self.before = nil
      // Then it was not for being sent too much.
      if !before.isMore(than: usual) { ceiling = .infinity }
    }
    guard !current.isMore(than: usual), current.share <= Self.nearlyAll else {
      let enough = isLimiting ? Self.worthBounding / 2 : Self.worthBounding
      if current.failures >= enough { lower(elapsed, now) }
      return
    }
    if usual.isMore(than: current) { usual = current }
    raise()
  }

  private func taken(_ elapsed: UInt64) -> Double {
    Double(current.answers - current.failures) * 1_000_000_000 / Double(elapsed)
  }

  private mutating func lower(_ elapsed: UInt64, _ now: UInt64) {
    let taken = taken(elapsed)
    rate = max(Self.floor, taken * Self.caution)
    ceiling = taken > Self.floor ? taken : .infinity
    growth = 0
    bucket = TokenBucket(at: now)
    loweredAt = now
    before = current
    sinceLowered = DecayingRatio()
  }

  /// In leaps up to what the server took before, then carefully, and ever less so.
  private mutating func raise() {
    guard let rate, isLimiting else { return }
    if rate < ceiling {
      self.rate = min(rate * Self.leap, ceiling)
    } else {
      growth = min(growth + Self.step, 1)
      self.rate = rate * (1 + growth)
    }
  }

  /// The server says in so many words that it is sent too much (ENHANCE_YOUR_CALM, RFC 9113,
  /// section 7): half of what it took is sent from now on, and then carefully more. What others say
  /// that were sent before is the same word.
  mutating func calm(sentAt: UInt64, at now: UInt64) {
    guard rate == nil || sentAt >= loweredAt else { return }
    // It may say so before the first round is over, or after one in which little was sent.
    let most = max(lastTaken, taken(max(now &- roundSince, Self.round)))
    rate = max(Self.floor, min(rate ?? .infinity, most) / 2)
    ceiling = 0
    growth = 0
    bucket = TokenBucket(at: now)
    loweredAt = now
    before = nil
    sinceLowered = DecayingRatio()
    usual = DecayingRatio()
    beginRound(now)
  }

  /// Forgets all that the server's answers have shown.
  mutating func trust() {
    rate = nil
    ceiling = .infinity
    before = nil
    usual = DecayingRatio()
    current = DecayingRatio()
    lately = DecayingRatio()
  }

  /// Called now and then.
  mutating func forget(at now: UInt64) {
    if rate != nil, now &- loweredAt >= Self.memory { trust() }
  }

  // MARK: sending

  /// How many of the `ready` pushes may go now.
  mutating func allowance(ready: Int, at now: UInt64) -> Int {
    guard let rate else { return ready }
    let allowed = bucket.allowance(rate, at: now)
    if allowed < ready { isLimiting = true }
    return min(ready, allowed)
  }

  /// Pushes were sent.
  mutating func take(_ pushes: Int) {
    if let rate { bucket.sent(pushes, rate) }
  }

  /// When the next may go; nil when one may go now.
  func opensAt(_ now: UInt64) -> UInt64? { rate.flatMap { bucket.opensAt($0, now) } }
}
