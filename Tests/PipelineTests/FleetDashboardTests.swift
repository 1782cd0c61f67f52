import JSON
import Telemetry
import Testing

@testable import Pipeline

/// docker/grafana/fanfare-fleet.json asks Prometheus for what workers measure.
@Suite struct FleetDashboardTests {
  private let board: Dashboard
  private let alerts: [AlertRule]

  init() throws {
    board = try Dashboard("fanfare-fleet")
    alerts = try AlertRule.all()
  }

  /// What a series has besides its family's labels: whose it is, and a bucket's bound.
  private func labels(_ selector: MetricSelector) -> [String] {
    (selector.family?.labels ?? []) + MetricSelector.targetLabels
      + (selector.name.hasSuffix("_bucket") ? ["le"] : [])
  }

  private func grouping(_ expression: String) -> [String]? {
    let found = expression.matches(of: /\bby \(([^)]*)\)/)
    guard !found.isEmpty else { return nil }
    return found.flatMap { $0.output.1.split(separator: ", ").map(String.init) }
  }

  @Test func everyMetricAndLabelIsAWorkers() {
    for expression in board.shown.flatMap(\.expressions) {
      let selectors = MetricSelector.all(in: expression)
      #expect(!selectors.isEmpty, "\(expression)")
      for selector in selectors {
        #expect(selector.family != nil, "nobody measures \(selector.name)")
        #expect(selector.labels.first == "instance", "\(expression)")
        for label in selector.labels + (grouping(expression) ?? []) {
          #expect(labels(selector).contains(label), "\(selector.name) has no \(label)")
        }
      }
    }
  }

  @Test func everyMetricIsShown() {
    let shown = board.shown.flatMap(\.expressions).flatMap(MetricSelector.all).compactMap(
      \.family?.name)
    for family in WorkerMetrics.all { #expect(shown.contains(family.name), "\(family.name)") }
  }

  @Test func legendsNameWhatTheSeriesHave() {
    for target in board.shown.flatMap(\.targets) {
      let expression = target["expr"]?.string ?? ""
      let isSummed = expression.contains(/\b(sum|min|max|avg|count) ?\(/)
      let there =
        grouping(expression) ?? (isSummed ? [] : MetricSelector.all(in: expression).flatMap(labels))
      for label in (target["legendFormat"]?.string ?? "").matches(of: /\{\{([a-z_]+)\}\}/) {
        #expect(there.contains(String(label.output.1)), "\(expression)")
      }
    }
  }

  /// Counters are rates, and quantiles are of all workers' buckets together. A rate hides the event
  /// with which a series begins, so unknown answers, whose series do, are read as they are.
  @Test func countersAndHistogramsAreReadAsWhatTheyAre() {
    let windows = alerts.flatMap { $0.expression.matches(of: /\[([0-9]+[mh])\]/) }
      .map { String($0.output.1) }
    #expect(!windows.isEmpty)
    for expression in board.shown.flatMap(\.expressions) {
      let counters = MetricSelector.all(in: expression).filter {
        $0.family?.kind != .gauge && $0.family != WorkerMetrics.unknownAnswers
      }
      let ranges = expression.matches(of: /(?:rate|increase)\([^\[()]*\[([^\]]*)\]\)/)
      #expect(ranges.count == counters.count, "\(expression)")
      for range in ranges {
        let window = String(range.output.1)
        #expect((windows + ["$__rate_interval"]).contains(window), "\(expression)")
      }
      let buckets = counters.contains { $0.name.hasSuffix("_bucket") }
      let quantiles = expression.matches(of: /histogram_quantile\(0\.\d+, sum by \(le\) \(rate\(/)
      #expect(buckets == (quantiles.count == 1), "\(expression)")
    }
  }

  /// Whoever is called by an alert finds what it is about, with its name.
  @Test func everyAlertHasAPanel() {
    #expect(!alerts.isEmpty)
    for alert in alerts {
      let asked = MetricSelector.all(in: alert.expression).map(\.name)
      let panels = board.shown.filter { alertNames($0.description).contains(alert.name) }
      let isShown = panels.contains { panel in
        Set(panel.expressions.flatMap(MetricSelector.all).map(\.name)).isSuperset(of: asked)
      }
      #expect(!asked.isEmpty && isShown, "\(alert.name)")
    }
    for name in alertNames(board.text) {
      #expect(alerts.contains { $0.name == name }, "\(name)")
    }
  }

  private func alertNames(_ text: String) -> Set<String> {
    Set(text.matches(of: /\bFanfare[A-Z][A-Za-z]+/).map { String($0.output) })
  }
}
