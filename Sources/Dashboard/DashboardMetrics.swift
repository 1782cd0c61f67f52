import Telemetry

/// How much dashboards look, and what that costs Redis.
package struct DashboardMetrics: Sendable, Equatable {
  package var viewers = 0
  package var commands = 0
  private var good = 0
  private var failed = 0

  package init() {}

  package var refreshes: Int { good + failed }

  mutating func count(isGood: Bool) { if isGood { good += 1 } else { failed += 1 } }

  private static let viewerFamily = MetricFamily(
    "fanfare_dashboard_viewers", .gauge, "Streams of the dashboard that are open.")
  private static let refreshFamily = MetricFamily(
    "fanfare_dashboard_refreshes_total", .counter,
    "Reads of Redis for the dashboard, at most one a second for all viewers together, by whether "
      + "Redis answered.", labels: ["result"])
  private static let commandFamily = MetricFamily(
    "fanfare_dashboard_redis_commands_total", .counter,
    "Commands sent to Redis for the dashboard.")

  /// In the order of the text.
  package static let all = [viewerFamily, refreshFamily, commandFamily]

  package func append(to text: inout PrometheusText) {
    text.append(Self.viewerFamily, Double(viewers))
    text.append(Self.refreshFamily, [(["ok"], Double(good)), (["failed"], Double(failed))])
    text.append(Self.commandFamily, Double(commands))
  }
}
