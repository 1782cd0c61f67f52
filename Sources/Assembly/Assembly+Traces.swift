import Model
import Rules
import Settings
import Telemetry
import Text
import Traces

extension Assembly {
  package static func traceOptions(_ settings: Settings) throws(SettingsError) -> TraceOptions {
    traceOptions(settings, try rules(settings))
  }

  /// As above, for a process that serves all the same where rules cannot be read.
  static func traceOptions(_ settings: Settings, log: Log) -> TraceOptions {
    do {
      return try traceOptions(settings)
    } catch {
      log.warning(
        "traces do not say whose hours are quiet now",
        ["why": .text(error.problems.first?.message ?? "")])
      return traceOptions(settings, RecipientRules())
    }
  }

  private static func traceOptions(
    _ settings: Settings, _ rules: RecipientRules
  ) -> TraceOptions {
    let directory = settings.templates.directory
    return TraceOptions(
      keyspace: keyspace(settings), ingest: ingestOptions(settings),
      plainSetKey: settings.audience.plainSetKey, rules: rules
    ) { name in
      // It comes from Redis, and names a file.
      guard TemplateName.isValid(name) else { return nil }
      return try? template(file: "\(directory)/\(name).yaml")
    }
  }
}
