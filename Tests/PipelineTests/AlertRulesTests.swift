import Checkout
import Testing

@testable import Pipeline

/// docker/prometheus/alerts.yaml asks for what workers measure, and the page says what to do.
@Suite struct AlertRulesTests {
  @Test func everyMetricAndLabelIsAWorkers() throws {
    let rules = try AlertRule.all()
    #expect(rules.count > 10 && Set(rules.map(\.name)).count == rules.count)
    for rule in rules {
      let selectors = MetricSelector.all(in: rule.expression)
      #expect(!selectors.isEmpty, "\(rule.name)")
      for selector in selectors {
        guard let family = selector.family else {
          Issue.record("\(rule.name): nobody measures \(selector.name)")
          continue
        }
        let isOfHistogram = family.kind == .histogram
        #expect(isOfHistogram == selector.name.hasSuffix("_bucket"), "\(selector.name)")
        for label in selector.labels {
          #expect(
            (family.labels + MetricSelector.targetLabels + (isOfHistogram ? ["le"] : []))
              .contains(label),
            "\(selector.name) has no \(label)")
        }
      }
    }
  }

  @Test func thePageSaysWhatToDo() throws {
    let page = try Checkout.text("docs/operations.md")
    for rule in try AlertRule.all() {
      #expect(page.ranges(of: "| `\(rule.name)` |").count == 1, "\(rule.name)")
    }
  }
}
