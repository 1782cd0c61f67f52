/// How often files were read again while the process runs.
package struct ReloadFigures: Sendable, Equatable {
  /// Changes that are used.
  package var used = 0
  /// Changes that are refused; the files before are used on.
  package var refused = 0
  /// Since when files lie there that are refused, in ms since 1970; nil while there are none.
  package var refusedSince: Int64?

  package init() {}
}

/// Metrics of files that workers and `fanfare api` read again.
package enum ReloadMetrics {
  static let reloads = MetricFamily(
    "fanfare_reloads_total", .counter,
    "Changes of files that the process reads again while it runs: used (`ok`), or refused because "
      + "of a mistake.",
    labels: ["what", "result"])
  static let refusedSince = MetricFamily(
    "fanfare_reload_refused_timestamp_seconds", .gauge,
    "Since when the files on disk are refused because of a mistake, in seconds since 1970; 0 if "
      + "they are in use. The process keeps using the previous ones, and its next start fails.",
    labels: ["what"])

  /// In the order of the text.
  package static let all = [reloads, refusedSince]

  package static func append(templates: ReloadFigures, to text: inout PrometheusText) {
    text.append(
      reloads,
      [
        (["templates", "ok"], Double(templates.used)),
        (["templates", "refused"], Double(templates.refused)),
      ])
    text.append(
      refusedSince, [(["templates"], Double(templates.refusedSince ?? 0) / 1_000)])
  }
}
