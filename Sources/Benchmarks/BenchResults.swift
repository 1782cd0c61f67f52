import Processes
import Terminal

/// A figure and how people read it.
package struct BenchResult {
  package private(set) var figure: Figure
  package let title: String
  package let unit: String
  package let digits: Int

  package init(
    _ name: String, _ title: String, _ values: [Double], unit: String, digits: Int,
    limit: Double? = nil, least: Double? = nil
  ) throws(LocalRunError) {
    guard let measurements = Measurements(values) else {
      throw LocalRunError(.failed, "\(title) was not measured: no usable run")
    }
    figure = Figure(name, measurements, limit: limit, least: least)
    self.title = title
    self.unit = unit
    self.digits = digits
  }

  /// How many times one figure is another.
  package static func ratio(
    _ name: String, _ title: String, _ values: [Double], limit: Double? = nil, least: Double? = nil
  ) throws(LocalRunError) -> BenchResult {
    try BenchResult(name, title, values, unit: "×", digits: 2, limit: limit, least: least)
  }

  package mutating func merge(_ other: BenchResult) { figure = figure.merged(with: other.figure) }

  fileprivate func text(_ value: Double) -> String { Figures.fixed(value, digits: digits) + unit }
}

/// All that a bench measured, for people and for scripts.
package struct BenchResults {
  package private(set) var results: [BenchResult] = []

  /// A figure that is there already gets the runs of the new one too.
  package mutating func add(_ more: [BenchResult]) {
    for result in more {
      if let known = results.firstIndex(where: { $0.figure.name == result.figure.name }) {
        results[known].merge(result)
      } else {
        results.append(result)
      }
    }
  }

  package var meetLimits: Bool { results.allSatisfy(\.figure.meetsLimit) }

  /// Each figure by its name, with its least and greatest run beside it.
  package var json: JSONOutput {
    var object = JSONObject()
    for result in results {
      let figure = result.figure
      let digits = result.digits + 1
      object[figure.name] = .number(figure.value, digits: digits)
      object[figure.name + "_min"] = .number(figure.measurements.minimum, digits: digits)
      object[figure.name + "_max"] = .number(figure.measurements.maximum, digits: digits)
    }
    object["limits_met"] = .bool(meetLimits)
    return .object(object)
  }

  package func write(to console: Console) {
    var table = Table([
      .init("Figure"), .init("Median", .right), .init("Least", .right), .init("Most", .right),
      .init("Limit", .right), .init(""),
    ])
    for result in results {
      let figure = result.figure
      table.add([
        result.title, result.text(figure.value), result.text(figure.measurements.minimum),
        result.text(figure.measurements.maximum),
        figure.limit.map(result.text) ?? figure.least.map { "≥ \(result.text($0))" } ?? "",
        !figure.hasLimit ? "" : figure.meetsLimit ? "pass" : "miss",
      ])
    }
    console.line()
    table.write(to: console)
  }
}

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
