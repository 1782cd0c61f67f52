/// One figure of a benchmark and what is asked of it.
package struct Figure: Sendable, Equatable {
  /// As `--json` names it.
  package let name: String
  package let measurements: Measurements
  /// The most that the median may be; nil where nothing is asked.
  package let limit: Double?
  /// The least that it may be.
  package let least: Double?

  package init(
    _ name: String, _ measurements: Measurements, limit: Double? = nil, least: Double? = nil
  ) {
    self.name = name
    self.measurements = measurements
    self.limit = limit
    self.least = least
  }

  package var value: Double { measurements.median }

  /// The same figure from the runs of both.
  package func merged(with other: Figure) -> Figure {
    Figure(name, measurements.merged(with: other.measurements), limit: limit, least: least)
  }

  /// True where nothing is asked.
  package var meetsLimit: Bool { value <= limit ?? .infinity && value >= least ?? -.infinity }
  var hasLimit: Bool { limit != nil || least != nil }
}
