import Ingest
import Keyspace
import Render
import Rules

/// What a trace looks at beside Redis: the configuration of this process, which workers share if
/// they are configured alike.
package struct TraceOptions: Sendable {
  package var keyspace: Keyspace
  package var ingest: IngestOptions
  /// Where followers without shards may stand: the pattern of `audience.plain_set_key`.
  package var plainSetKey: String?
  package var rules: RecipientRules
  /// As it is now; nil where this process has none of that name, or a mistaken one.
  package var template: @Sendable (_ name: String) -> Template?

  package init(
    keyspace: Keyspace, ingest: IngestOptions, plainSetKey: String? = nil,
    rules: RecipientRules = RecipientRules(),
    template: @escaping @Sendable (String) -> Template? = { _ in nil }
  ) {
    self.keyspace = keyspace
    self.ingest = ingest
    self.plainSetKey = plainSetKey
    self.rules = rules
    self.template = template
  }
}
