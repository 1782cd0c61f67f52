import Checkout
import Telemetry
import Testing

@testable import API

@Suite struct APIMetricsTests {
  private static func text(_ health: [HealthPart] = [], dropped: Int = 0) -> String {
    var text = APIMetrics().text
    APIProcessMetrics.append(
      health, version: "1.2.3", log: LogStatistics(written: [.error: 4], dropped: dropped),
      libraries: ["hiredis": "1.0", "libyaml": "0.2"], to: &text)
    return text.text
  }

  @Test func everyFamilyIsThereFromTheStart() {
    let text = Self.text()
    for family in APIMetrics.all {
      #expect(text.contains("# HELP \(family.name) \(family.help)\n"), "\(family.name)")
    }
    #expect(text.ranges(of: "# TYPE ").count == APIMetrics.all.count)
  }

  @Test func saysWhatRunsAndWhatIsInOrder() {
    let text = Self.text(
      [
        HealthPart("redis", trouble: nil),
        HealthPart("kafka", trouble: "no broker can be reached", isVital: false),
      ], dropped: 7)
    #expect(
      text.contains(
        #"fanfare_api_build_info{version="1.2.3",librdkafka="",openssl="",hiredis="1.0"} 1"#
          + "\n"))
    #expect(text.contains("\nfanfare_api_ready{part=\"redis\"} 1\n"))
    #expect(text.contains("\nfanfare_api_ready{part=\"kafka\"} 0\n"))
    #expect(text.contains("\nfanfare_log_lines_total{level=\"error\"} 4\n"))
    #expect(text.contains("\nfanfare_log_lines_dropped_total 7\n"))
    let started = text.firstMatch(of: /\nprocess_start_time_seconds (\d+)/).flatMap { Int($0.1) }
    #expect((started ?? 0) > 1_700_000_000)
    #expect(text.contains("\nprocess_resident_memory_bytes "))
  }

  /// When this fails, put what it prints between the marks.
  @Test func thePageIsWhatTheFamiliesSay() throws {
    let text = try Checkout.text("docs/api.md")
    let begin = "<!-- made from APIMetrics; APIMetricsTests prints it -->\n"
    let start = try #require(text.firstRange(of: begin)).upperBound
    let end = try #require(text[start...].firstRange(of: "\n<!-- end -->")).lowerBound
    let page =
      (["| Metric | Kind | Labels | What it says |", "|---|---|---|---|"]
      + APIMetrics.all.map { family in
        let labels = family.labels.map { "`\($0)`" }.joined(separator: ", ")
        return "| `\(family.name)` | \(family.kind.rawValue) | \(labels) | \(family.help) |"
      }).joined(separator: "\n")
    #expect(text[start..<end] == page, "\(page)")
  }
}
