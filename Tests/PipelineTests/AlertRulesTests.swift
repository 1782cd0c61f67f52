import Checkout
import Telemetry
import Testing

@testable import Pipeline

/// docker/prometheus/alerts.yaml asks for what workers measure, and the page says what to do.
@Suite struct AlertRulesTests {
  private struct Rule {
    let name: String
    let expression: String
  }

  private static func rules() throws -> [Rule] {
    let text = try Checkout.text("docker/prometheus/alerts.yaml")
    return text.split(separator: "- alert: ").dropFirst().map { part in
      let name = part.prefix { $0 != "\n" }
      let end = part.firstRange(of: "labels: {")?.lowerBound ?? part.endIndex
      let start = part.firstRange(of: "expr: ")?.upperBound ?? part.startIndex
      return Rule(name: String(name), expression: String(part[start..<end]))
    }
  }

  @Test func everyMetricAndLabelIsAWorkers() throws {
    let rules = try Self.rules()
    #expect(rules.count == 18 && Set(rules.map(\.name)).count == rules.count)
    for rule in rules {
      let selectors = rule.expression.matches(
        of: /(fanfare|process)_[a-z_]+(\{(?<label>[a-z_]+)=~?"[^"]*"\})?/)
      #expect(!selectors.isEmpty, "\(rule.name)")
      for selector in selectors {
        let name = selector.output.0.prefix { $0 != "{" }
        let family = WorkerMetrics.all.first {
          $0.name == name || ($0.kind == .histogram && $0.name + "_bucket" == name)
        }
        guard let family else {
          Issue.record("\(rule.name): nobody measures \(name)")
          continue
        }
        #expect((family.kind == .histogram) == name.hasSuffix("_bucket"), "\(name)")
        if let label = selector.output.label {
          #expect(family.labels.contains(String(label)), "\(name) has no \(label)")
        }
      }
    }
  }

  @Test func thePageSaysWhatToDo() throws {
    let page = try Checkout.text("docs/operations.md")
    for rule in try Self.rules() {
      #expect(page.ranges(of: "| `\(rule.name)` |").count == 1, "\(rule.name)")
    }
  }
}
