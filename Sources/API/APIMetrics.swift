import Dashboard
import Telemetry

/// Requests that one API thread has answered, or all threads together. There is one series per
/// route and status; requests for unknown paths add none of their own.
struct APIMetrics: Sendable {
  private struct Series: Hashable, Sendable {
    let route: String
    let method: String
    let status: Int
  }

  private static let requests = MetricFamily(
    "fanfare_http_requests_total", .counter, "Requests that the API has answered.",
    labels: ["route", "method", "status"])
  private static let times = MetricFamily(
    "fanfare_http_request_duration_seconds", .histogram,
    "The time from the arrival of the whole request to its answer.", labels: ["route", "method"])

  private var counts: [Series: Int] = [:]
  private var durations: [String: [String: Histogram]] = [:]
  /// Rows of imports that have ended.
  var imported: (taken: Int, refused: Int) = (0, 0)
  /// Of the dashboard, of which there is one for all threads.
  var dashboard = DashboardMetrics()
  /// Of the templates' files.
  var templateReloads = ReloadFigures()
  /// Audit lines: those that standard output took, those that it did not, and those that were not
  /// written because too many requests were refused.
  var audited: (written: Int, dropped: Int, withheld: Int) = (0, 0, 0)

  /// - Parameter nanoseconds: nil for a request that was refused before it had come whole.
  mutating func count(_ route: String, _ method: String, _ status: Int, nanoseconds: UInt64?) {
    counts[Series(route: route, method: method, status: status), default: 0] += 1
    guard let nanoseconds else { return }
    durations[route, default: [:]][method, default: .answerTimes].observe(nanoseconds: nanoseconds)
  }

  var requestCount: Int { counts.values.reduce(0, +) }

  static func + (first: APIMetrics, second: APIMetrics) -> APIMetrics {
    var sum = first
    sum.counts.merge(second.counts, uniquingKeysWith: +)
    sum.durations.merge(second.durations) { $0.merging($1, uniquingKeysWith: +) }
    sum.imported.taken += second.imported.taken
    sum.imported.refused += second.imported.refused
    return sum
  }

  private static let importedRows = MetricFamily(
    "fanfare_api_import_rows_total", .counter, "Rows of imports that have ended.",
    labels: ["result"])

  private static let auditLines = MetricFamily(
    "fanfare_api_audit_lines_total", .counter,
    "Audit lines about changes and refusals. Dropped: standard output did not take the line. "
      + "Withheld: there were too many refusals.", labels: ["result"])

  /// In the order of the text.
  static let all =
    [requests, times, importedRows, auditLines] + DashboardMetrics.all + ReloadMetrics.all
    + APIProcessMetrics.all

  var text: PrometheusText {
    var text = PrometheusText()
    text.append(
      Self.requests,
      counts.map { ([$0.key.route, $0.key.method, String($0.key.status)], Double($0.value)) }
        .sorted { $0.0.lexicographicallyPrecedes($1.0) })
    var histograms: [(labels: [String], value: Histogram)] = []
    for (route, methods) in durations.sorted(by: { $0.key < $1.key }) {
      for (method, histogram) in methods.sorted(by: { $0.key < $1.key }) {
        histograms.append(([route, method], histogram))
      }
    }
    text.append(Self.times, histograms: histograms)
    text.append(
      Self.importedRows,
      [
        (["written"], Double(imported.taken - imported.refused)),
        (["refused"], Double(imported.refused)),
      ])
    text.append(
      Self.auditLines,
      [
        (["written"], Double(audited.written)), (["dropped"], Double(audited.dropped)),
        (["withheld"], Double(audited.withheld)),
      ])
    dashboard.append(to: &text)
    ReloadMetrics.append(templates: templateReloads, to: &text)
    return text
  }
}

/// Metrics of the API beside those of its requests. The families have names of their own where a
/// worker's say that there is a worker.
enum APIProcessMetrics {
  static let build = MetricFamily(
    "fanfare_api_build_info", .gauge, "Always 1; the labels are the versions.",
    labels: ["version", "librdkafka", "openssl", "hiredis"])
  static let isReady = MetricFamily(
    "fanfare_api_ready", .gauge,
    "1 while `/readyz` says that the part (redis, keys or kafka) is in order, otherwise 0. Only "
      + "events need kafka, and with kafka.topics.tokens also devices that change users.",
    labels: ["part"])

  static let all = [build, isReady] + ProcessMetrics.all

  static func append(
    _ health: [HealthPart], version: String, log: LogStatistics, libraries: [String: String],
    to text: inout PrometheusText
  ) {
    let versions = build.labels.dropFirst().map { libraries[$0] ?? "" }
    text.append(build, [([version] + versions, 1)])
    text.append(isReady, health.map { ([$0.name], $0.trouble == nil ? 1 : 0) })
    ProcessMetrics.append(
      ProcessUsage.own(), startTime: ProcessUsage.ownStartTime, log, to: &text)
  }
}
