import Model
import Text

/// Finds the outliers among fan-outs, which fail by themselves and not for the server: nearly all
/// of one's pushes are answered "not now" while those of others are taken between them, again and
/// again. Failures while it is the only one that is sent are no evidence. A pure machine; times are
/// monotonic nanoseconds.
struct OutlierDetection {
  /// Standard deviations: it is looked at with each answer.
  private static let deviations = 4.0
  /// So often others were taken between its failures.
  private static let fewestTurns = 3

  /// Of a fan-out's answers, so that it is soon seen that it is taken again.
  private static let remembered = 64

  private struct Record {
    let fanOut: FanOut
    /// Answers to it.
    var own = DecayingRatio(remembering: OutlierDetection.remembered)
    /// Its pushes; failures: those of devices that are said to have had too many. Further tries
    /// of one do not count.
    var pushes = DecayingRatio(remembering: OutlierDetection.remembered)
    /// Pushes of others that had been taken when it failed last.
    var takenBefore: Int
    var turns = 0
    var isOutlier = false
    /// The part of `all` that is its own.
    var ofAll = (answers: 0, failures: 0)
    /// Failures since outliers were last to blame for nearly all.
    var failures = 0
    var failedAt: UInt64 = 0
  }

  private var records: [ObjectIdentifier: Record] = [:]
  /// Answers to all, but for outliers and fan-outs of which nothing was taken.
  private var all = DecayingRatio(remembering: Evidence.rememberedAnswers)
  /// Pushes that were taken, but for those of outliers.
  private var takenCount = 0

  /// No fan-out has failed lately: accepted pushes need not be counted.
  var isEmpty: Bool { records.isEmpty }

  func isOutlier(_ fanOut: FanOut) -> Bool { records[ObjectIdentifier(fanOut)]?.isOutlier == true }

  /// Whether nearly every device of a fan-out is answered 429 (too many for this device). Then the
  /// fan-out itself is refused, which says nothing against its pushes.
  func isRefused(_ fanOut: FanOut) -> Bool {
    guard let pushes = records[ObjectIdentifier(fanOut)]?.pushes else { return false }
    return pushes.answers >= Evidence.fewestPushes && pushes.share >= Evidence.nearlyAll
  }

  /// - Parameter isAtFloor: the server takes next to nothing: also those of which nothing was taken
  ///   lately.
  func outliers(isAtFloor: Bool) -> [FanOut] {
    records.values.compactMap { record in
      let isSilentAtFloor =
        isAtFloor && record.own.answers > 0 && record.own.taken == 0 && !record.fanOut.isWelcome
      return record.isOutlier || isSilentAtFloor ? record.fanOut : nil
    }
  }

  /// One of its pushes was taken, or the server looked at it.
  mutating func taken(_ fanOut: FanOut) {
    if !isOutlier(fanOut) {
      addToAll(fanOut, failures: 0)
      takenCount += 1
    }
    guard let index = records.index(forKey: ObjectIdentifier(fanOut)) else { return }
    var record = records.values[index]
    record.own.add(failures: 0)
    record.pushes.add(failures: 0)
    // That says nothing of others than itself.
    if !record.isOutlier { record.takenBefore += 1 }
    if record.own.share < Evidence.nearlyAll {
      record.isOutlier = false
      record.turns = 0
    }
    records.values[index] = record
  }

  /// The device of one of its pushes is said to have had too many. Of single devices that says
  /// nothing of others.
  /// - Parameter isAgain: that was said of it here before, or was held against it elsewhere.
  mutating func deviceRefused(_ fanOut: FanOut, isAgain: Bool, at now: UInt64) {
    var record = record(of: fanOut)
    record.failedAt = now
    if !isAgain { record.pushes.add(failures: 1) }
    records[ObjectIdentifier(fanOut)] = record
  }

  /// One of its pushes was answered "not now".
  /// - Returns: whether that makes it an outlier, and outliers have nearly all failures.
  mutating func failed(_ fanOut: FanOut, at now: UInt64) -> Bool {
    // One of which nothing was taken yet says nothing of others.
    let counts =
      records[ObjectIdentifier(fanOut)].map { !$0.isOutlier && $0.own.taken > 0 } ?? false
    if counts { addToAll(fanOut, failures: 1) }
    var record = record(of: fanOut)
    record.failedAt = now
    record.failures += 1
    if takenCount > record.takenBefore {
      record.takenBefore = takenCount
      record.turns += 1
    }
    record.own.add(failures: 1)
    let isNew =
      !record.isOutlier && record.turns >= Self.fewestTurns
      && record.own.share >= Evidence.nearlyAll
      && record.own.isMore(than: others(than: record), deviations: Self.deviations)
    if isNew { record.isOutlier = true }
    records[ObjectIdentifier(fanOut)] = record
    return isNew && areToBlame()
  }

  /// Adds an answer to all, and to the fan-out's part of them. When half of all are forgotten, so
  /// is half of each part.
  private mutating func addToAll(_ fanOut: FanOut, failures: Int) {
    let before = all.answers
    all.add(failures: failures)
    if all.answers < before {
      records = records.mapValues { record in
        var record = record
        record.ofAll.answers /= 2
        record.ofAll.failures /= 2
        return record
      }
    }
    records[ObjectIdentifier(fanOut)]?.ofAll.answers += 1
    records[ObjectIdentifier(fanOut)]?.ofAll.failures += failures
  }

  private func others(than record: Record) -> DecayingRatio {
    var others = DecayingRatio()
    others.add(
      max(0, all.answers - record.ofAll.answers),
      failures: max(0, all.failures - record.ofAll.failures))
    return others
  }

  private mutating func areToBlame() -> Bool {
    let all = records.values.reduce(0) { $0 + $1.failures }
    let own = records.values.reduce(0) { $0 + ($1.isOutlier ? $1.failures : 0) }
    guard Double(own) >= Evidence.nearlyAll * Double(all) else { return false }
    records = records.mapValues { record in
      var record = record
      record.failures = 0
      return record
    }
    return true
  }

  /// The record of a fan-out; a new one in the place of the oldest where there are too many.
  private mutating func record(of fanOut: FanOut) -> Record {
    if let record = records[ObjectIdentifier(fanOut)] { return record }
    if records.count >= Evidence.mostRemembered,
      let oldest = records.min(by: { $0.value.failedAt < $1.value.failedAt })
    {
      records[oldest.key] = nil
    }
    return Record(fanOut: fanOut, takenBefore: takenCount)
  }

  /// Called now and then.
  mutating func forget(at now: UInt64) {
    guard !isEmpty else { return }
    records = records.filter { now &- $0.value.failedAt < Evidence.memory }
    if isEmpty { self = OutlierDetection() }
  }
}
