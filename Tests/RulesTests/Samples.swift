import Rules
import Text

/// Runs `body` with the values of one recipient.
func withValues<T>(_ texts: [RuleField: String], _ body: (RuleValues) -> T) -> T {
  let fields = RuleField.allCases.filter { texts[$0] != nil }
  let bytes = fields.map { Array((texts[$0] ?? "").utf8) }
  var values = RuleValues()
  func fill(_ index: Int) -> T {
    guard index < fields.count else { return body(values) }
    return bytes[index].withUnsafeBytes {
      values[fields[index]] = $0
      return fill(index + 1)
    }
  }
  return fill(0)
}

func verdict(
  _ rules: RecipientRules, streamer: String = "s1", at now: Int64 = 0, _ texts: [RuleField: String]
) -> RuleVerdict {
  let judge = RecipientJudge(rules, streamer: Array(streamer.utf8), now: now)
  return withValues(texts) { judge.verdict(on: $0) }
}

func milliseconds(_ text: String) -> Int64 { Timestamp.milliseconds(text) ?? -1 }
