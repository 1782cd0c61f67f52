/// Runs the turns of loops that have no thread, and gives them time and numbers. A simulation is
/// one: then several loops take turns on its thread, and time passes when it says so.
package protocol LoopDriver: AnyObject, Sendable {
  /// Monotonic nanoseconds.
  var now: UInt64 { get }

  /// Any number, each time another.
  func randomNumber() -> UInt64

  /// The loop has something to do: the driver is to call `EventLoop.runTurn` soon, after this call
  /// has returned.
  func wake(_ loop: EventLoop)
}
