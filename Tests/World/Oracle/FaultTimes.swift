/// When what went wrong did, for what a fault excuses. Nanoseconds of the world.
struct FaultTimes {
  private var spans: [(from: UInt64, to: UInt64, deed: Deed)] = []

  mutating func add(_ deed: Deed, from: UInt64) {
    let end = from &+ deed.duration.nanoseconds
    spans.append((from, end, deed))
    // Claims that cannot be renewed in one fault, nor in the next, end as in a longer one.
    guard case .redis = deed,
      let before = spans.dropLast().last(where: { if case .redis = $0.deed { true } else { false } }
      ),
      from <= before.to &+ Self.fewestBetween, end > before.from
    else { return }
    let both = Duration.nanoseconds(Int64(clamping: end - before.from))
    spans.append((before.from, end, .redis(.silent, both)))
  }

  /// Redis is well for so long between two faults, or claims are not renewed.
  private static let fewestBetween: UInt64 = 1_000_000_000

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
