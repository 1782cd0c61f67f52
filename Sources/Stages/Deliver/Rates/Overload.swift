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
  /// Of what the server took last: room to work off what it has in hand.
  private static let caution = 0.9
  /// Each round in a row without trouble adds this part to what the next round adds.
  private static let step = 0.05
  /// Where no ceiling is known, the next round is sent so many times as much.
  private static let leap = 4.0
  /// Where more than this fails of less, still less is tried first: while a server uses up what it
  /// had saved for a burst, it looks as if less did not help.
  private static let bearable = 0.7
  /// Where more than this fails, nothing is taken, and more is not tried.
  private static let hopeless = 0.9
  /// Trouble that is older says nothing.
  private static let memory: UInt64 = 60_000_000_000

  private var lately = DecayingRatio()

  /// Pushes a second; nil: no bound.
  private(set) var rate: Double?
  /// What the server took when it was overloaded last; infinite while it is not known to be.
  private var ceiling = Double.infinity
  private var growth = 0.0
  private(set) var loweredAt: UInt64 = 0
  /// What failed when the rate was lowered, until it is seen whether that helps.
  private var before: DecayingRatio?
  private var sinceLowered = DecayingRatio()
  /// What fails of less: so much is not for being sent too much.
  private var usual = DecayingRatio()

  /// Pushes a second that the server took in the last round.
  private var lastTaken = 0.0
  private var pace = Pace()
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
  /// enough answers have told what fails of less; that, and not zero, is what more is compared to.
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
    guard !current.isMore(than: usual), current.share <= Self.hopeless else {
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
    pace.begin(at: now)
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
    pace.begin(at: now)
    loweredAt = now
    before = nil
    sinceLowered = DecayingRatio()
    usual = DecayingRatio()
    beginRound(now)
  }

  /// What it said is forgotten.
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
    let allowed = pace.allowance(rate, at: now)
    if allowed < ready { isLimiting = true }
    return min(ready, allowed)
  }

  /// Pushes were sent.
  mutating func take(_ pushes: Int) {
    if let rate { pace.take(pushes, rate) }
  }

  /// When the next may go; nil when one may go now.
  func opensAt(_ now: UInt64) -> UInt64? { rate.flatMap { pace.opensAt($0, now) } }
}

/// So many pushes a second, evenly. A pure machine; times are monotonic nanoseconds.
struct Pace {
  /// What is sent at once at most, in seconds of the rate.
  private static let burst = 0.003
  /// What was sent beyond the rate is paid back for so many seconds at most.
  private static let longestDebt = 0.2

  private var credit = 0.0
  private var creditedAt: UInt64 = 0

  /// Nothing was earned before.
  mutating func begin(at now: UInt64) {
    credit = 0
    creditedAt = now
  }

  /// How many may go now.
  mutating func allowance(_ rate: Double, at now: UInt64) -> Int {
    credit = min(credit(rate, at: now), max(1, rate * Self.burst))
    creditedAt = now
    return max(0, Int(credit))
  }

  /// Pushes were sent; also such as did not ask, as probes do not. All others wait no longer than
  /// `longestDebt` for them.
  mutating func take(_ pushes: Int, _ rate: Double) {
    credit = max(credit - Double(pushes), -rate * Self.longestDebt)
  }

  /// When the next may go; nil when one may go now: who has the connection for it sends it then.
  func opensAt(_ rate: Double, _ now: UInt64) -> UInt64? {
    let credit = credit(rate, at: now)
    guard credit < 1 else { return nil }
    // A loop that wakes more often than each millisecond has no time for anything else.
    return now &+ max(1_000_000, UInt64((1 - credit) * 1_000_000_000 / rate))
  }

  /// With what was earned since it was looked at last.
  private func credit(_ rate: Double, at now: UInt64) -> Double {
    credit + Double(now &- creditedAt) * rate / 1_000_000_000
  }
}

/// Whether a route takes pushes more slowly than they come, so that they wait for a stream: a pure
/// machine. Times are monotonic nanoseconds.
struct Congestion {
  /// A route that was slow is slow until it shows otherwise, or nothing has waited for so long.
  static let memory: UInt64 = 10_000_000_000
  /// It lags when pushes wait for this part of the time that makes it slow: longer than they do on
  /// a route that has all it can take.
  private static let lagging: UInt64 = 10
  /// What a route takes is looked at over so long: answers come in waves.
  private static let measured: UInt64 = 500_000_000

  private var lastLagged: UInt64?
  private var lastSlow: UInt64?
  private var taken = 0
  private var takenSince: UInt64 = 0
  /// When it was looked at last, pushes had waited too long.
  private(set) var isHoldingUp = false

  /// Pushes wait long enough to keep their segments from ending.
  var isLagging: Bool { lastLagged != nil }
  /// They wait too long for anybody to wait for them.
  var isSlow: Bool { lastSlow != nil }

  /// Pushes were handed to a connection.
  mutating func take(_ pushes: Int) { taken += pushes }

  /// Looks at the route; called now and then.
  ///
  /// - Parameters:
  ///   - oldest: since when the push that is sent next has been ready; nil when none is.
  ///   - bound: how many pushes may be ready. A route that takes as many in `slowAfter` is fast.
  ///   - slowAfter: what waits longer makes the route slow.
  mutating func look(oldest: UInt64?, bound: Int, slowAfter: UInt64, at now: UInt64) {
    let isFast = measure(bound: bound, slowAfter: slowAfter, at: now)
    let wait = oldest.map { now > $0 ? now - $0 : 0 } ?? 0
    isHoldingUp = wait >= slowAfter
    Self.judge(&lastSlow, isTrue: wait >= slowAfter, isFast: isFast, at: now)
    Self.judge(&lastLagged, isTrue: wait >= slowAfter / Self.lagging, isFast: isFast, at: now)
  }

  private mutating func measure(bound: Int, slowAfter: UInt64, at now: UInt64) -> Bool {
    let elapsed = now &- takenSince
    guard elapsed >= Self.measured else { return false }
    defer {
      taken = 0
      takenSince = now
    }
    return Double(taken) * Double(slowAfter) >= Double(bound) * Double(elapsed)
  }

  private static func judge(
    _ last: inout UInt64?, isTrue: Bool, isFast: Bool, at now: UInt64
  ) {
    if isTrue {
      last = now
    } else if let seen = last, isFast || now &- seen >= memory {
      last = nil
    }
  }
}
