import Telemetry

/// Metrics of the API beside those of its requests. The families have names of their own where a
/// worker's say that there is a worker.
enum APIProcessMetrics {
  static let build = MetricFamily(
    "fanfare_api_build_info", .gauge, "Always 1; versions are in the labels.",
    labels: ["version", "librdkafka", "openssl", "hiredis"])
  static let isReady = MetricFamily(
    "fanfare_api_ready", .gauge,
    "1 while `/readyz` says that the part is in order, or else 0: redis, keys, and kafka, which "
      + "only events need, and with kafka.topics.tokens devices that change hands.",
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
