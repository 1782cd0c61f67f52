import Model

/// Counts the batches of one segment that are not settled: waits for room for one more, and for all
/// of them. Confined to its lane; one caller waits at a time.
final class SegmentProgress {
  /// Batches that may be unsettled at once. Pushes that wait out a back-off keep their batch's
  /// memory, about 350 KB each, so this bounds what a segment of any size holds while Apple
  /// refuses; 32 batches of 512 are many times what a lane has in flight.
  static let maximumBatches = 32

  private(set) var unsettledBatches = 0
  private var isAbandoned = false
  private var waiter: CheckedContinuation<Void, Never>?
  /// The waiter goes on when so few are unsettled.
  private var enough = 0

  func watch(_ batch: PushBatch) {
    guard batch.unsettled > 0 else { return }
    unsettledBatches += 1
    batch.whenSettled = { [self] in batchSettled() }
  }

  /// Returns when one more batch may be rendered, or the lane gives up.
  func roomForMore() async { await fallen(to: Self.maximumBatches - 1) }

  /// Returns when every batch watched so far has settled, or the lane gives up.
  func allSettled() async { await fallen(to: 0) }

  var isSettled: Bool { unsettledBatches == 0 }

  /// The lane stops: whoever waits, now or later, goes on with what there is.
  func abandon() {
    isAbandoned = true
    resume()
  }

  private func fallen(to count: Int) async {
    guard unsettledBatches > count, !isAbandoned else { return }
    enough = count
    await withCheckedContinuation { waiter = $0 }
  }

  private func batchSettled() {
    unsettledBatches -= 1
    if unsettledBatches <= enough { resume() }
  }

  private func resume() {
    let resumed = waiter
    waiter = nil
    resumed?.resume()
  }
}
