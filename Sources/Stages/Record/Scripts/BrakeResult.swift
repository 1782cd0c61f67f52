/// The result of `RecordStage.setBrake`.
package enum BrakeResult: Sendable, Equatable {
  case done
  /// It was so before.
  case already
  /// Nothing undoes that: pushes have their outcomes.
  case cancelledBefore
  /// There is nothing left to stop.
  case ended(String)
  /// No such event, or older than its lifetime.
  case unknown
}
