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
  /// In words for an operator.
  let text: String
}

extension DependencyWait.Cause {
  /// The dependency that answered with the error; whatever is not Kafka's came from Redis.
  init(of error: any Error) {
    switch error {
    case is KafkaError: self = .kafka
    case let error as RecordError where error.code == .clocksDisagree: self = .clock
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

  func say(_ number: Int, _ cause: DependencyWait.Cause, _ text: String) {
    waits[number] = DependencyWait(cause: cause, text: text)
  }

  func end(_ number: Int) { waits[number] = nil }
}
