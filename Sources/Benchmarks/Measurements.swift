/// The values of one figure from several runs or events.
package struct Measurements: Sendable, Equatable {
  /// Ascending; never empty, all finite.
  package let sorted: [Double]

  /// Nil without values, or with one that is no number: such a run measured nothing.
  package init?(_ values: [Double]) {
    guard !values.isEmpty, values.allSatisfy(\.isFinite) else { return nil }
    sorted = values.sorted()
  }

  /// The values of both.
  package func merged(with other: Measurements) -> Measurements {
    Measurements(merging: sorted + other.sorted)
  }

  private init(merging values: [Double]) { sorted = values.sorted() }

  package var minimum: Double { sorted[0] }
  package var maximum: Double { sorted[sorted.count - 1] }

  /// The middle value; between two middle values, their mean.
  package var median: Double {
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }

  /// The smallest value that at least `percent` (0…100) of all do not exceed (nearest rank).
  package func percentile(_ percent: Double) -> Double {
    let share = min(max(percent.isNaN ? 0 : percent, 0), 100) / 100
    let rank = Int((share * Double(sorted.count)).rounded(.up))
    return sorted[min(max(rank, 1), sorted.count) - 1]
  }
}
