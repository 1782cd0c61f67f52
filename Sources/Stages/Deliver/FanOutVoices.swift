import Model

/// Which fan-outs speak for themselves and not for the server: nearly all of one's pushes are
/// answered "not now" while those of others are taken between them, again and again. While it is
/// the only one that is sent nobody can tell, so that what was said of it then says nothing later.
/// A pure machine; times are monotonic nanoseconds.
struct FanOutVoices {
  /// So large a part of its answers are failures.
  private static let nearlyAll = 0.9
  /// Standard deviations: it is looked at with each answer.
  private static let deviations = 4.0
  /// So often others were taken between its failures.
  private static let fewestTurns = 3
  /// Failures that count before others are taken again: a run of pushes is refused together.
  private static let mostOfTurn = 8
  /// Answers to a fan-out that are remembered.
  private static let remembered = 64
  /// So many of its pushes are enough to say that it is not up to their devices.
  private static let fewestPushes = 10
  /// One of which nothing was taken yet says nothing of others after so many answers.
  private static let silentAfter = 4
  /// Without a failure for so long, it is forgotten.
  private static let memory: UInt64 = 60_000_000_000
  /// One whose pushes are mostly taken, sooner.
  private static let memoryOfUsual: UInt64 = 2_000_000_000
  private static let usual = 0.5
  /// Fan-outs that are remembered at most.
  private static let most = 256

  private struct Voice {
    let fanOut: FanOut
    /// What was said to it.
    var own = AnswerSample()
    /// What had been said to others when that began.
    var base: AnswerSample
    /// Pushes of others that had been taken when it failed last.
    var takenBefore: Int
    var turns = 0
    var ofTurn = 0
    var speaksForItself = false
    /// Failures since the server was trusted last.
    var failures = 0
    var failedAt: UInt64 = 0
    /// Its pushes; failures: those of devices that are said to have had too many. Further tries
    /// of one do not count.
    var pushes = AnswerSample()

    /// No push of it was taken lately: it says nothing of others.
    var isSilent: Bool { own.taken == 0 && own.answers >= FanOutVoices.silentAfter }

    /// Nearly all of its devices have had too many, it is said.
    var refusesAll: Bool {
      pushes.answers >= FanOutVoices.fewestPushes && pushes.share >= FanOutVoices.nearlyAll
    }

    mutating func count(isRefused: Bool) {
      pushes.add(AnswerSample(answers: 1, failures: isRefused ? 1 : 0))
      if pushes.answers > FanOutVoices.remembered { pushes.halve() }
    }

    mutating func remember(_ others: AnswerSample) {
      guard own.answers > FanOutVoices.remembered else { return }
      own.halve()
      base.answers = (base.answers + others.answers) / 2
      base.failures = (base.failures + others.failures) / 2
    }

    func others(_ all: AnswerSample) -> AnswerSample {
      AnswerSample(
        answers: max(0, all.answers - base.answers), failures: max(0, all.failures - base.failures))
    }
  }

  private var voices: [Voice] = []
  /// What was said to all, but for those that say nothing of others.
  private var heard = AnswerSample()
  /// The one that was answered last: answers come in runs.
  private var last = 0
  /// One that is not among them, of which the same is true.
  private var unknown: ObjectIdentifier?

  /// Nobody has failed lately: what is taken need not be told.
  var isEmpty: Bool { voices.isEmpty }

  func speaksForItself(_ fanOut: FanOut) -> Bool {
    voices.contains { $0.fanOut === fanOut && $0.speaksForItself }
  }

  /// A fan-out of which nearly every device has had too many, as is said, is refused itself: that
  /// says nothing against its pushes.
  func isRefused(_ fanOut: FanOut) -> Bool {
    voices.contains { $0.fanOut === fanOut && $0.refusesAll }
  }

  /// Those of which nothing was taken lately.
  var unheard: [FanOut] {
    voices.compactMap { $0.own.answers > 0 && $0.own.taken == 0 ? $0.fanOut : nil }
  }

  /// Nearly all failures since the server was trusted last are of those that speak for themselves.
  var areToBlame: Bool {
    let all = voices.reduce(0) { $0 + $1.failures }
    let own = voices.reduce(0) { $0 + ($1.speaksForItself ? $1.failures : 0) }
    return own > 0 && Double(own) >= Self.nearlyAll * Double(all)
  }

  /// From now on failures are counted from zero.
  mutating func trust() { for index in voices.indices { voices[index].failures = 0 } }

  private mutating func find(_ fanOut: FanOut) -> Int? {
    if last < voices.count, voices[last].fanOut === fanOut { return last }
    guard unknown != ObjectIdentifier(fanOut) else { return nil }
    guard let index = voices.firstIndex(where: { $0.fanOut === fanOut }) else {
      unknown = ObjectIdentifier(fanOut)
      return nil
    }
    last = index
    return index
  }

  /// One of its pushes was taken, or the server looked at it.
  mutating func taken(_ fanOut: FanOut) {
    guard let index = find(fanOut) else {
      heard.answers += 1
      return
    }
    voices[index].own.answers += 1
    voices[index].count(isRefused: false)
    if !voices[index].speaksForItself {
      heard.answers += 1
      // That says nothing of others than itself.
      voices[index].base.answers += 1
      voices[index].takenBefore += 1
    }
    voices[index].remember(heard)
    guard voices[index].own.share < Self.nearlyAll else { return }
    voices[index].speaksForItself = false
    voices[index].turns = 0
  }

  /// The device of one of its pushes is said to have had too many. Of single devices that says
  /// nothing of others.
  /// - Parameter isAgain: that was said of it here before, or was held against it elsewhere.
  mutating func refused(_ fanOut: FanOut, isAgain: Bool, at now: UInt64) {
    let index = find(fanOut) ?? add(fanOut)
    voices[index].failedAt = now
    if !isAgain { voices[index].count(isRefused: true) }
  }

  /// - Returns: whether that shows, and did not before, that it speaks for itself.
  mutating func failed(_ fanOut: FanOut, at now: UInt64) -> Bool {
    let index = find(fanOut) ?? add(fanOut)
    voices[index].failedAt = now
    voices[index].failures += 1
    if heard.taken > voices[index].takenBefore {
      voices[index].takenBefore = heard.taken
      voices[index].turns += 1
      voices[index].ofTurn = 0
    }
    if !voices[index].speaksForItself, !voices[index].isSilent {
      heard.answers += 1
      heard.failures += 1
      voices[index].base.answers += 1
      voices[index].base.failures += 1
    }
    guard voices[index].ofTurn < Self.mostOfTurn else { return false }
    voices[index].ofTurn += 1
    voices[index].own.add(AnswerSample(answers: 1, failures: 1))
    voices[index].remember(heard)
    return judge(index)
  }

  private mutating func judge(_ index: Int) -> Bool {
    let voice = voices[index]
    guard !voice.speaksForItself, voice.turns >= Self.fewestTurns,
      voice.own.share >= Self.nearlyAll,
      voice.own.isMore(than: voice.others(heard), deviations: Self.deviations)
    else { return false }
    voices[index].speaksForItself = true
    return true
  }

  private mutating func add(_ fanOut: FanOut) -> Int {
    if voices.count >= Self.most {
      let oldest = voices.indices.min { voices[$0].failedAt < voices[$1].failedAt }
      voices.remove(at: oldest ?? 0)
    }
    voices.append(Voice(fanOut: fanOut, base: heard, takenBefore: heard.taken))
    last = voices.count - 1
    unknown = nil
    return last
  }

  /// Called now and then.
  mutating func forget(at now: UInt64) {
    voices.removeAll { voice in
      let age = now &- voice.failedAt
      let isUsual = !voice.speaksForItself && voice.own.share < Self.usual
      return age >= (isUsual ? Self.memoryOfUsual : Self.memory)
    }
    last = 0
    unknown = nil
    if voices.isEmpty { heard = AnswerSample() }
  }
}
