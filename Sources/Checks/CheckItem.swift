import Settings

/// One thing that was looked at.
package struct CheckItem: Sendable {
  package enum Status: String, Sendable { case ok, warning, problem, skipped }

  /// Who can mend it: whoever wrote the configuration, or whoever runs what it points to.
  package enum Blame: Sendable { case configuration, dependency }

  /// What it is about, in one word: `templates`, `kafka`, `redis` …
  package let area: String
  package var status: Status
  let blame: Blame
  package let place: String?
  package let key: String?
  package let message: String
  package let hint: String?
}
