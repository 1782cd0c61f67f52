import Checkout
import JSON
import Telemetry
import Testing

@testable import Pipeline

/// docker/grafana/fanfare-fleet.json asks Prometheus for what workers measure.
@Suite struct FleetDashboardTests {
  private let board: Dashboard
  private let alerts: String

  init() throws {
    board = try Dashboard("fanfare-fleet")
    alerts = try Checkout.text("docker/prometheus/alerts.yaml")
  }

  private struct Selector {
    let name: String
    let labels: [String]
    /// Nil where nobody measures it.
    let family: MetricFamily?
  }

  private func selectors(_ expression: String) -> [Selector] {
    let found = expression.matches(
      of: /(?<name>(?:fanfare|process)_[a-z_]+)(?:\{(?<labels>[^}]*)\})?/)
    return found.map { match in
      let name = String(match.output.name)
      let labels = (match.output.labels ?? "").matches(of: /([a-z_]+)(?:=~|!~|!=|=)"/)
      let family = WorkerMetrics.all.first { family in
        family.kind == .histogram
          ? ["_bucket", "_sum", "_count"].contains { family.name + $0 == name }
          : family.name == name
      }
      return Selector(name: name, labels: labels.map { String($0.output.1) }, family: family)
    }
  }

  /// What a series has besides its family's labels: whose it is, and a bucket's bound.
  private func labels(_ selector: Selector) -> [String] {
    (selector.family?.labels ?? []) + ["instance"]
      + (selector.name.hasSuffix("_bucket") ? ["le"] : [])
  }

  private func grouping(_ expression: String) -> [String]? {
    let found = expression.matches(of: /\bby \(([^)]*)\)/)
    guard !found.isEmpty else { return nil }
    return found.flatMap { $0.output.1.split(separator: ", ").map(String.init) }
  }

  @Test func everyMetricAndLabelIsAWorkers() {
    for expression in board.shown.flatMap(\.expressions) {
      let selectors = selectors(expression)
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
    let shown = board.shown.flatMap(\.expressions).flatMap(selectors).compactMap(\.family?.name)
    for family in WorkerMetrics.all { #expect(shown.contains(family.name), "\(family.name)") }
  }

  @Test func legendsNameWhatTheSeriesHave() {
    for target in board.shown.flatMap(\.targets) {
      let expression = target["expr"]?.string ?? ""
      let isSummed = expression.contains(/\b(sum|min|max|avg|count) ?\(/)
      let there = grouping(expression) ?? (isSummed ? [] : selectors(expression).flatMap(labels))
      for label in (target["legendFormat"]?.string ?? "").matches(of: /\{\{([a-z_]+)\}\}/) {
        #expect(there.contains(String(label.output.1)), "\(expression)")
      }
    }
  }

  /// Counters are rates, and quantiles are of all workers' buckets together. A rate hides the event
  /// with which a series begins, so unknown answers, whose series do, are read as they are.
  @Test func countersAndHistogramsAreReadAsWhatTheyAre() {
    let windows = alerts.matches(of: /\[([0-9]+[mh])\]/).map { String($0.output.1) }
    #expect(!windows.isEmpty)
    for expression in board.shown.flatMap(\.expressions) {
      let counters = selectors(expression).filter {
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
  @Test func everyAlertHasAPanel() throws {
    let rules = alerts.split(separator: "- alert: ").dropFirst()
    #expect(!rules.isEmpty)
    for rule in rules {
      let name = String(rule.prefix { $0 != "\n" })
      let asked = selectors(String(try rule.part(behind: "expr:", before: "labels: {"))).map(\.name)
      let panels = board.shown.filter { alertNames($0.description).contains(name) }
      let isShown = panels.contains { panel in
        Set(panel.expressions.flatMap(selectors).map(\.name)).isSuperset(of: asked)
      }
      #expect(!asked.isEmpty && isShown, "\(name)")
    }
    for name in alertNames(board.text) {
      #expect(rules.contains { $0.hasPrefix(name + "\n") }, "\(name)")
    }
  }

  private func alertNames(_ text: String) -> Set<String> {
    Set(text.matches(of: /\bFanfare[A-Z][A-Za-z]+/).map { String($0.output) })
  }
}
