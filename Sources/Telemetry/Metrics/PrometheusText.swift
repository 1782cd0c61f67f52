/// Prometheus' text format ("Exposition formats", version 0.0.4): what a scrape of `/metrics` gets.
package struct PrometheusText: Sendable {
  package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  package private(set) var text = ""
  private var families: Set<String> = []

  package init() {}

  /// A family with one series for each sample. Every family once, also one without samples.
  /// - Parameter samples: the values of the family's labels, in order, and the series' value.
  package mutating func append(
    _ family: MetricFamily, _ samples: [(labels: [String], value: Double)]
  ) {
    begin(family)
    for sample in samples { line(family.name, family.labels, sample.labels, sample.value) }
  }

  /// A family with a single series.
  package mutating func append(_ family: MetricFamily, _ value: Double) {
    append(family, [([], value)])
  }

  package mutating func append(
    _ family: MetricFamily, histograms: [(labels: [String], value: Histogram)]
  ) {
    begin(family)
    for (values, histogram) in histograms {
      var sum = 0
      for (bound, count) in zip(histogram.bounds, histogram.counts) {
        sum += count
        line(
          family.name + "_bucket", family.labels + ["le"],
          values + [Self.number(Double(bound) / 1_000_000_000)], Double(sum))
      }
      line(
        family.name + "_bucket", family.labels + ["le"], values + ["+Inf"],
        Double(histogram.count))
      line(family.name + "_sum", family.labels, values, histogram.seconds)
      line(family.name + "_count", family.labels, values, Double(histogram.count))
    }
  }

  private mutating func begin(_ family: MetricFamily) {
    precondition(families.insert(family.name).inserted, "\(family.name) comes twice")
    text += "# HELP \(family.name) \(Self.escaped(family.help, quotes: false))\n"
    text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
  }

  private mutating func line(
    _ name: String, _ labels: [String], _ values: [String], _ value: Double
  ) {
    precondition(labels.count == values.count, "\(name) has the labels \(labels)")
    text += name
    if !labels.isEmpty {
      let pairs = zip(labels, values).map { "\($0)=\"\(Self.escaped($1, quotes: true))\"" }
      text += "{" + pairs.joined(separator: ",") + "}"
    }
    text += " \(Self.number(value))\n"
  }

  private static func escaped(_ text: String, quotes: Bool) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\n": escaped += "\\n"
      case "\"" where quotes: escaped += "\\\""
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  /// Whole numbers without a fraction, as far as a double holds them exactly.
  private static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    if let whole = Int(exactly: value), abs(whole) <= 1 << 53 { return "\(whole)" }
    return "\(value)"
  }
}
