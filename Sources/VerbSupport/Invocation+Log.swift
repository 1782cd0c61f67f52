import Assembly
import Settings
import Telemetry
import Terminal

extension Invocation {
  /// For a process that runs for long: its settings, and the log, which also gets whatever ends it,
  /// from the first mistake in a setting on. A collector of its lines finds each in the form that
  /// `log.format` says.
  package func runLogged(
    requirements: SettingsRequirements = [],
    _ body: (Settings, Log) async throws(CommandFailure) -> ExitCode
  ) async -> ExitCode {
    let report = settingsReport(requirements: requirements)
    var options = Assembly.logOptions(report.read)
    // Each mistake is told, however many there are.
    options.repeatLimit = 0
    let start = Log(options)
    for warning in report.warnings {
      start.warning("a setting looks mistaken", Self.fields(warning))
    }
    guard report.problems.isEmpty else {
      for problem in report.problems {
        start.error("the configuration is wrong", Self.fields(problem))
      }
      start.error("the process ends", ["code": .integer(Int(ExitCode.config.rawValue))])
      return .config
    }
    let log = Assembly.log(report.read)
    defer { log.flush() }
    do throws(CommandFailure) {
      return try await body(report.read, log)
    } catch {
      for finding in error.findings { start.error("found", ["finding": .text(finding)]) }
      start.error(
        "the process ends",
        ["reason": .text(error.message), "code": .integer(Int(error.code.rawValue))])
      return error.code
    }
  }

  private static func fields(_ finding: SettingsFinding) -> LogFields {
    var fields: LogFields = [:]
    if let place = finding.place { fields["place"] = .text(place) }
    if let key = SettingsFinding.key(finding.key, beside: finding.place) {
      fields["key"] = .text(key)
    }
    fields["reason"] = .text(finding.message)
    if let hint = finding.hint { fields["hint"] = .text(hint) }
    return fields
  }
}
