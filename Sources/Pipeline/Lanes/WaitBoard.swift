import Kafka
import Record

/// A dependency that is waited for at the moment.
struct DependencyWait: Sendable, Equatable {
  /// Which one it is: a label of metrics, so that an alert can name it.
  enum Cause: String, Sendable, CaseIterable {
    case redis
    case kafka
    case deadLetters = "dead_letters"
    /// Our clock and Redis' differ over whether an event has expired.
    case clock
  }

  let cause: Cause
  /// What is tried, behind "to"; nil where it is everything.
  let what: String?
  /// Why it has not succeeded yet.
  let reason: String

  init(cause: Cause, to what: String? = nil, text reason: String) {
    self.cause = cause
    self.what = what
    self.reason = reason
  }

  /// In words for an operator.
  var text: String { what.map { "to \($0): \(reason)" } ?? reason }

  /// All of them in words, each reason once, and none that is `told` elsewhere.
  static func words(_ waits: [DependencyWait], told: [String]) -> [String] {
    var reasons: [String] = []
    for wait in waits where !reasons.contains(wait.reason) { reasons.append(wait.reason) }
    return reasons.map { reason in
      let tried = waits.filter { $0.reason == reason }.compactMap(\.what).map { "to \($0)" }
      let isTold = told.contains { reason.contains($0) }
      let names = tried.joined(separator: ", ")
      if isTold && !names.isEmpty { return names }
      return names.isEmpty ? reason : "\(names): \(reason)"
    }
  }
}

extension DependencyWait.Cause {
  /// The dependency that answered with the error; whatever is not Kafka's came from Redis.
  init(of error: any Error) {
    switch error {
    case is KafkaError: self = .kafka
    case let error as RecordError where error.code.isOfClocks: self = .clock
    default: self = .redis
    }
  }
}

/// The dependencies that a lane waits for at the moment, for the heartbeat and for metrics.
/// Confined to its lane.
final class WaitBoard {
  private var waits: [Int: DependencyWait] = [:]
  private var lastNumber = 0

  /// Each once, in the order in which the waits began.
  var all: [DependencyWait] {
    waits.sorted { $0.key < $1.key }.reduce(into: []) { all, item in
      if !all.contains(item.value) { all.append(item.value) }
    }
  }

  func begin() -> Int {
    lastNumber += 1
    return lastNumber
  }

  func say(_ number: Int, _ cause: DependencyWait.Cause, to what: String, _ reason: String) {
    waits[number] = DependencyWait(cause: cause, to: what, text: reason)
  }

  func end(_ number: Int) { waits[number] = nil }
}
