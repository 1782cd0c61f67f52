import Terminal

/// What came of a feedback service's words.
package struct FeedbackCounts: Sendable, Equatable {
  /// Tokens that it told.
  package var told = 0
  /// Bindings taken out, or that would be.
  package var pruned = 0
  /// Bindings that are younger than the word, or whose time cannot be read: kept.
  package var kept = 0
  /// Tokens that nobody has.
  package var unknown = 0
  /// Keys of another type, or that Redis refused.
  package var failed = 0

  package init() {}

  package func summary(isDryRun: Bool) -> Summary {
    var text = Summary()
    text.add("told", told, note: "tokens")
    text.add(isDryRun ? "would be pruned" : "pruned", pruned, note: "bindings", indent: 1)
    text.add("kept", kept, note: "bindings that are younger", indent: 1)
    text.add("unknown", unknown, note: "tokens that nobody has", indent: 1)
    if failed > 0 {
      text.add("failed", failed, note: "keys of another type", mark: .bad, indent: 1)
    }
    return text
  }

  package func json(isDryRun: Bool) -> JSONOutput {
    [
      "dry_run": .bool(isDryRun), "told": .integer(told), "pruned": .integer(pruned),
      "kept": .integer(kept), "unknown": .integer(unknown), "failed": .integer(failed),
    ]
  }
}
