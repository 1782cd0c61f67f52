import Model

/// Pushes that are sent one behind the other: one that was tried before, or some that never were
/// and stand side by side in their batch. What they have in common is looked at once for all.
package struct ReadyRun {
  /// Where in a `ReadyQueue` it stands.
  enum Place { case refusedLast, returned, batches, refusedFirst, elsewhere }

  package let first: ReadyPush
  package let count: Int
  let place: Place

  init(_ first: ReadyPush, count: Int = 1, from place: Place = .elsewhere) {
    self.first = first
    self.count = count
    self.place = place
  }

  /// Its first push, as it is in flight when it is sent now.
  package func item(
    _ headers: SharedHeaders, isProbe: Bool, at now: UInt64
  ) -> StreamSlots.Slot {
    var item = StreamSlots.Slot(push: first, headers: headers, sentAt: now, stream: 0)
    item.push.isFirst = false
    item.push.isProbe = isProbe
    return item
  }
}
