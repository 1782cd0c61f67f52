/// A scheduled call; forget it or `cancel` it.
package final class LoopTimer {
  let deadline: UInt64
  private var body: (() -> Void)?

  init(deadline: UInt64, body: @escaping () -> Void) {
    self.deadline = deadline
    self.body = body
  }

  /// The call will not happen; what it captured is let go at once.
  package func cancel() { body = nil }

  func fire() {
    let call = body
    body = nil
    call?()
  }

  var isCancelled: Bool { body == nil }
}
