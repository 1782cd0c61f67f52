/// When what went wrong did, for what a fault excuses. Nanoseconds of the world.
struct FaultTimes {
  private var spans: [(from: UInt64, to: UInt64, deed: Deed)] = []

  mutating func add(_ deed: Deed, from: UInt64) {
    spans.append((from, from &+ deed.duration.nanoseconds, deed))
  }

  var all: [Deed] { spans.map(\.deed) }

  /// Whether a fault of that kind touches the time, or ended so long before it at most.
  func any(
    from: UInt64, to: UInt64, after slack: Duration = .zero, _ isOfKind: (Deed) -> Bool
  ) -> Bool {
    spans.contains {
      $0.from <= to && $0.to &+ slack.nanoseconds >= from && isOfKind($0.deed)
    }
  }
}
