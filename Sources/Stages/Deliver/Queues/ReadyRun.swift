import Model

/// Pushes that are sent one behind the other: one that was tried before, or some that never were
/// and stand side by side in their batch. What they have in common is looked at once for all.
struct ReadyRun {
  /// Where in a `ReadyQueue` it stands.
  enum Place { case refusedLast, returned, batches, refusedFirst, elsewhere }

  let first: ReadyPush
  let count: Int
  let place: Place

  init(_ first: ReadyPush, count: Int = 1, from place: Place = .elsewhere) {
    self.first = first
    self.count = count
    self.place = place
  }
}
