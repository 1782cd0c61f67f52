import Model

/// Finds the outliers among fan-outs, which fail by themselves and not for the server: nearly all
/// of one's pushes are answered "not now" while those of others are taken between them, again and
/// again. Failures while it is the only one that is sent are no evidence. A pure machine; times are
/// monotonic nanoseconds.
struct OutlierDetection {
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

  private struct Record {
    let fanOut: FanOut
    /// Answers to it.
    var own = DecayingRatio()
    /// Answers to others before that began.
    var base: DecayingRatio
    /// Pushes of others that had been taken when it failed last.
    var takenBefore: Int
    var turns = 0
    var ofTurn = 0
    var isOutlier = false
    /// Failures since the server was trusted last.
    var failures = 0
    var failedAt: UInt64 = 0
    /// Its pushes; failures: those of devices that are said to have had too many. Further tries
    /// of one do not count.
    var pushes = DecayingRatio()

    /// No push of it was taken lately: it says nothing of others.
    var isSilent: Bool { own.taken == 0 && own.answers >= OutlierDetection.silentAfter }

    /// Nearly all of its devices have had too many, it is said.
    var refusesAll: Bool {
      pushes.answers >= OutlierDetection.fewestPushes
        && pushes.share >= OutlierDetection.nearlyAll
    }

    mutating func count(isRefused: Bool) {
      pushes.add(
        1, failures: isRefused ? 1 : 0, remembering: OutlierDetection.remembered)
    }

    mutating func remember(_ others: DecayingRatio) {
      guard own.answers > OutlierDetection.remembered else { return }
      own.halve()
      base.answers = (base.answers + others.answers) / 2
      base.failures = (base.failures + others.failures) / 2
    }

    func others(_ all: DecayingRatio) -> DecayingRatio {
      DecayingRatio(
        answers: max(0, all.answers - base.answers), failures: max(0, all.failures - base.failures))
    }
  }

  private var records: [Record] = []
  /// Answers to all, but for outliers and silent fan-outs.
  private var all = DecayingRatio()
  /// The one that was answered last: answers come in runs.
  private var last = 0
  /// The same of one that has no record.
  private var unknown: ObjectIdentifier?

  /// No fan-out has failed lately: accepted pushes need not be counted.
  var isEmpty: Bool { records.isEmpty }

  func isOutlier(_ fanOut: FanOut) -> Bool {
    records.contains { $0.fanOut === fanOut && $0.isOutlier }
  }

  /// A fan-out of which nearly every device has had too many, as is said, is refused itself: that
  /// says nothing against its pushes.
  func isRefused(_ fanOut: FanOut) -> Bool {
    records.contains { $0.fanOut === fanOut && $0.refusesAll }
  }

  /// - Parameter isAtFloor: the server takes next to nothing: also those of which nothing was taken
  ///   lately.
  func outliers(isAtFloor: Bool) -> [FanOut] {
    records.compactMap { record in
      let isSilentAtFloor =
        isAtFloor && record.own.answers > 0 && record.own.taken == 0 && !record.fanOut.isWelcome
      return record.isOutlier || isSilentAtFloor ? record.fanOut : nil
    }
  }

  /// Nearly all failures since the server was trusted last are outliers'.
  var areToBlame: Bool {
    let failures = records.reduce(0) { $0 + $1.failures }
    let own = records.reduce(0) { $0 + ($1.isOutlier ? $1.failures : 0) }
    return own > 0 && Double(own) >= Self.nearlyAll * Double(failures)
  }

  /// From now on failures are counted from zero.
  mutating func trust() { for index in records.indices { records[index].failures = 0 } }

  private mutating func find(_ fanOut: FanOut) -> Int? {
    if last < records.count, records[last].fanOut === fanOut { return last }
    guard unknown != ObjectIdentifier(fanOut) else { return nil }
    guard let index = records.firstIndex(where: { $0.fanOut === fanOut }) else {
      unknown = ObjectIdentifier(fanOut)
      return nil
    }
    last = index
    return index
  }

  /// One of its pushes was taken, or the server looked at it.
  mutating func taken(_ fanOut: FanOut) {
    guard let index = find(fanOut) else {
      all.answers += 1
      return
    }
    records[index].own.answers += 1
    records[index].count(isRefused: false)
    if !records[index].isOutlier {
      all.answers += 1
      // That says nothing of others than itself.
      records[index].base.answers += 1
      records[index].takenBefore += 1
    }
    records[index].remember(all)
    guard records[index].own.share < Self.nearlyAll else { return }
    records[index].isOutlier = false
    records[index].turns = 0
  }

  /// The device of one of its pushes is said to have had too many. Of single devices that says
  /// nothing of others.
  /// - Parameter isAgain: that was said of it here before, or was held against it elsewhere.
  mutating func deviceRefused(_ fanOut: FanOut, isAgain: Bool, at now: UInt64) {
    let index = find(fanOut) ?? add(fanOut)
    records[index].failedAt = now
    if !isAgain { records[index].count(isRefused: true) }
  }

  /// - Returns: whether that shows, and did not before, that it fails by itself.
  mutating func failed(_ fanOut: FanOut, at now: UInt64) -> Bool {
    let index = find(fanOut) ?? add(fanOut)
    records[index].failedAt = now
    records[index].failures += 1
    if all.taken > records[index].takenBefore {
      records[index].takenBefore = all.taken
      records[index].turns += 1
      records[index].ofTurn = 0
    }
    if !records[index].isOutlier, !records[index].isSilent {
      all.answers += 1
      all.failures += 1
      records[index].base.answers += 1
      records[index].base.failures += 1
    }
    guard records[index].ofTurn < Self.mostOfTurn else { return false }
    records[index].ofTurn += 1
    records[index].own.add(DecayingRatio(answers: 1, failures: 1))
    records[index].remember(all)
    return judge(index)
  }

  private mutating func judge(_ index: Int) -> Bool {
    let record = records[index]
    guard !record.isOutlier, record.turns >= Self.fewestTurns,
      record.own.share >= Self.nearlyAll,
      record.own.isMore(than: record.others(all), deviations: Self.deviations)
    else { return false }
    records[index].isOutlier = true
    return true
  }

  private mutating func add(_ fanOut: FanOut) -> Int {
    if records.count >= Self.most {
      let oldest = records.indices.min { records[$0].failedAt < records[$1].failedAt }
      records.remove(at: oldest ?? 0)
    }
    records.append(Record(fanOut: fanOut, base: all, takenBefore: all.taken))
    last = records.count - 1
    unknown = nil
    return last
  }

  /// Called now and then.
  mutating func forget(at now: UInt64) {
    records.removeAll { record in
      let age = now &- record.failedAt
      let isUsual = !record.isOutlier && record.own.share < Self.usual
      return age >= (isUsual ? Self.memoryOfUsual : Self.memory)
    }
    last = 0
    unknown = nil
    if records.isEmpty { all = DecayingRatio() }
  }
}
