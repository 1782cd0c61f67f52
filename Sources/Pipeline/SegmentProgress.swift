import Model

/// Waits for the batches of one segment to settle. Confined to its lane.
final class SegmentProgress {
  private var unsettledBatches = 0
  private var waiter: CheckedContinuation<Void, Never>?

  func watch(_ batch: PushBatch) {
    guard batch.unsettled > 0 else { return }
    unsettledBatches += 1
    batch.whenSettled = { [self] in batchSettled() }
  }

  /// Returns when every batch watched so far has settled, or the lane gives up.
  func allSettled() async {
    guard unsettledBatches > 0 else { return }
    await withCheckedContinuation { waiter = $0 }
  }

  var isSettled: Bool { unsettledBatches == 0 }

  /// The lane stops: whoever waits goes on with what there is.
  func abandon() { resume() }

  private func batchSettled() {
    unsettledBatches -= 1
    if unsettledBatches == 0 { resume() }
  }

  private func resume() {
    let resumed = waiter
    waiter = nil
    resumed?.resume()
  }
}
