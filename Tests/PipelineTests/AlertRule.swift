import Checkout

/// One of docker/prometheus/alerts.yaml.
struct AlertRule {
  let name: String
  let expression: String

  static func all() throws -> [AlertRule] {
    let text = try Checkout.text("docker/prometheus/alerts.yaml")
    return try text.split(separator: "- alert: ").dropFirst().map { rule in
      AlertRule(
        name: String(rule.prefix { $0 != "\n" }),
        expression: String(try rule.part(behind: "expr: ", before: "labels: {")))
    }
  }
}
