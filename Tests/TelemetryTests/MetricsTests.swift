import Testing

@testable import Telemetry

@Suite struct MetricsTests {
  @Test func aTextIsAsPrometheusReadsIt() {
    var text = PrometheusText()
    text.append(MetricFamily("fanfare_ready", .gauge, "Whether it \\ is"), 1)
    text.append(
      MetricFamily("fanfare_pushes_total", .counter, "Pushes", labels: ["outcome", "reason"]),
      [(["accepted", ""], 12), (["rejected", "a\"b\\c\nd"], 0.5)])
    text.append(
      MetricFamily("fanfare_nothing_total", .counter, "Nothing"),
      [] as [(labels: [String], value: Double)])
    #expect(
      text.text == """
        # HELP fanfare_ready Whether it \\\\ is
        # TYPE fanfare_ready gauge
        fanfare_ready 1
        # HELP fanfare_pushes_total Pushes
        # TYPE fanfare_pushes_total counter
        fanfare_pushes_total{outcome="accepted",reason=""} 12
        fanfare_pushes_total{outcome="rejected",reason="a\\"b\\\\c\\nd"} 0.5
        # HELP fanfare_nothing_total Nothing
        # TYPE fanfare_nothing_total counter

        """)
  }

  @Test(arguments: [
    (Double.nan, "NaN"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (0, "0"), (-3, "-3"),
    (1.25, "1.25"), (9_007_199_254_740_992, "9007199254740992"), (1e300, "1e+300"),
    (0.000_001, "1e-06"),
  ])
  func aNumberIsOneOfPrometheus(value: Double, wanted: String) {
    var text = PrometheusText()
    text.append(MetricFamily("a", .gauge, "A"), value)
    #expect(text.text.hasSuffix("\na \(wanted)\n"))
  }

  @Test func aHistogramAddsUpItsBuckets() {
    var histogram = Histogram(bounds: [.milliseconds(1), .milliseconds(10), .seconds(1)])
    for nanoseconds: UInt64 in [0, 1_000_000, 1_000_001, 1_000_000_000, 5_000_000_000] {
      histogram.observe(nanoseconds: nanoseconds)
    }
    histogram.observe(nanoseconds: 10_000_000, times: 3)
    #expect(histogram.counts == [2, 4, 1] && histogram.count == 8)
    var text = PrometheusText()
    text.append(
      MetricFamily("a_seconds", .histogram, "A", labels: ["b"]), histograms: [(["x"], histogram)])
    #expect(
      text.text.split(separator: "\n").dropFirst(2) == [
        "a_seconds_bucket{b=\"x\",le=\"0.001\"} 2", "a_seconds_bucket{b=\"x\",le=\"0.01\"} 6",
        "a_seconds_bucket{b=\"x\",le=\"1\"} 7", "a_seconds_bucket{b=\"x\",le=\"+Inf\"} 8",
        "a_seconds_sum{b=\"x\"} 6.032000001", "a_seconds_count{b=\"x\"} 8",
      ])
  }

  @Test func histogramsAreAddedUp() {
    var one = Histogram.answerTimes
    var other = Histogram.answerTimes
    one.observe(nanoseconds: 3_000_000)
    other.observe(nanoseconds: 3_000_000)
    other.observe(nanoseconds: 60_000_000_000)
    let sum = one + other
    #expect(sum.count == 3 && sum.counts.reduce(0, +) == 2 && sum.counts[2] == 2)
    #expect(sum.seconds == 60.006)
  }
}
