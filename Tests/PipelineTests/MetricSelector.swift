import Telemetry

@testable import API
@testable import Pipeline

/// A metric that an expression for Prometheus asks for.
struct MetricSelector {
  let name: String
  let labels: [String]
  /// Nil where nobody measures it.
  let family: MetricFamily?

  /// Prometheus' own.
  private static let up = MetricFamily(
    "up", .gauge, "1 while the scrapes of a target are answered.", labels: [])
  /// Every series has these of the target that it was scraped from.
  static let targetLabels = ["instance", "job"]

  static func all(in expression: String) -> [MetricSelector] {
    let found = expression.matches(
      of: /(?<name>(?:fanfare|process)_[a-z_]+|\bup\b)(?:\{(?<labels>[^}]*)\})?/)
    return found.map { match in
      let name = String(match.output.name)
      let labels = (match.output.labels ?? "").matches(of: /([a-z_]+)(?:=~|!~|!=|=)"/)
      let family = (WorkerMetrics.all + APIProcessMetrics.all + [up]).first { family in
        family.kind == .histogram
          ? ["_bucket", "_sum", "_count"].contains { family.name + $0 == name }
          : family.name == name
      }
      return MetricSelector(name: name, labels: labels.map { String($0.output.1) }, family: family)
    }
  }
}
