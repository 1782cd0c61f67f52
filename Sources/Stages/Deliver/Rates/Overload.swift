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
  /// Answers are looked at over so long, and longer while they are too few to say anything.
  static let round: UInt64 = 200_000_000
  private static let longestRound = 5 * Self.round
  private static let enoughAnswers = 2 * Evidence.fewestPushes
  /// Each round in a row without trouble adds this part to what the next round adds.
  private static let step = 0.05
  /// Where no ceiling is known, the next round is sent so many times as much.
  private static let leap = 4.0

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

  // MARK: answers

  mutating func answered(isFailure: Bool, sentAt: UInt64, at now: UInt64) {
    if sentAt >= loweredAt { answered(1, areFailures: isFailure, at: now) }
  }

  /// As above for several answers of one kind, to pushes that were sent at the present rate, since
  /// `loweredAt`: what was sent before says nothing of it.
  mutating func answered(_ count: Int, areFailures: Bool = false, at now: UInt64) {
    guard count > 0 else { return }
    if current.answers == 0 || now &- roundSince > 2 * Self.longestRound { beginRound(now) }
    current.add(count, failures: areFailures ? count : 0)
    let elapsed = now &- roundSince
    guard elapsed >= Self.round,
      current.answers >= Self.enoughAnswers || elapsed >= Self.longestRound
    else { return }
    lastTaken = taken(elapsed)
    judge(now)
    beginRound(now)
  }

  private mutating func beginRound(_ now: UInt64) {
    roundSince = now
    current = DecayingRatio()
    isLimiting = false
  }

  private func taken(_ elapsed: UInt64) -> Double {
    Double(current.taken) * 1_000_000_000 / Double(elapsed)
  }

  /// An overloaded server refuses a greater share of a higher rate; chance refuses the same share
  /// of any rate. So the rate is lowered once. When enough answers show the share that fails at the
  /// lower rate, shares at higher rates are compared with that share, and not with zero.
  private mutating func judge(_ now: UInt64) {
    if let before {
      sinceLowered.add(current.answers, failures: current.failures)
      guard Double(sinceLowered.answers) * before.share >= Double(Evidence.fewestPushes)
      else { return }
      usual = sinceLowered
      self.before = nil
      // Then it was not for being sent too much.
      if !before.isMore(than: usual) { ceiling = .infinity }
    }
    guard !current.isMore(than: usual), current.share <= Evidence.nearlyAll else {
      // For a bound; half as many are worth a lower one, if the present bound decided how much was
      // sent.
      let enough = isLimiting ? Evidence.fewestPushes / 2 : Evidence.fewestPushes
      guard current.failures >= enough else { return }
      before = current
      // The server has pushes in hand to work off.
      return lower(
        to: lastTaken * Evidence.nearlyAll, ceiling: lastTaken > Self.floor ? lastTaken : .infinity,
        now)
    }
    if usual.isMore(than: current) { usual = current }
    raise()
  }

  private mutating func lower(to rate: Double, ceiling: Double, _ now: UInt64) {
    self.rate = max(Self.floor, rate)
    self.ceiling = ceiling
    growth = 0
    bucket = TokenBucket(at: now)
    loweredAt = now
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
    lower(to: min(rate ?? .infinity, most) / 2, ceiling: 0, now)
    before = nil
    usual = DecayingRatio()
    beginRound(now)
  }

  /// Forgets all trouble, but not how much was taken.
  mutating func trust() {
    let taken = lastTaken
    self = Overload()
    lastTaken = taken
  }

  /// Forgets old trouble; called now and then.
  mutating func forget(at now: UInt64) {
    if rate != nil, now &- loweredAt >= Evidence.memory { trust() }
  }

  // MARK: sending

  /// How many of the `ready` pushes may go now.
  mutating func allowance(ready: Int, at now: UInt64) -> Int {
    guard let rate else { return ready }
    let allowed = bucket.allowance(rate, at: now)
    if allowed < ready { isLimiting = true }
    return min(ready, allowed)
  }

  mutating func take(_ pushes: Int) { if let rate { bucket.sent(pushes, rate) } }

  /// When the next may go; nil when one may go now.
  func opensAt(_ now: UInt64) -> UInt64? { rate.flatMap { bucket.opensAt($0, now) } }
}
