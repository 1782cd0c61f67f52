import Settings

/// Everything that a process needs, looked at before there is one.
package enum Checks {
  /// - Parameters:
  ///   - report: what was read of the configuration.
  ///   - process: whose it is.
  ///   - file: where it was read.
  ///   - connects: false: files only.
  ///   - timeout: how long each of Kafka, Redis and Apple may take.
  ///   - deniesWarnings: take warnings for problems.
  ///   - now: ms since 1970.
  package static func run(
    _ report: SettingsReport, for process: CheckedProcess, file: String?, connects: Bool,
    timeout: Duration, deniesWarnings: Bool, now: Int64
  ) async -> CheckList {
    var list = CheckList(deniesWarnings: deniesWarnings)
    FileChecks.configuration(report, file: file, &list)
    // Also with a configuration that is wrong elsewhere: its files may hold further problems.
    if process.compilesTemplates { FileChecks.templates(report.read, &list) }
    if process.looksForTemplates { FileChecks.templateNames(report.read, &list) }
    if process == .worker { FileChecks.rules(report.read, &list) }
    if process == .worker || process == .api {
      FileChecks.api(report.read, isNeeded: process == .api, now: now, &list)
    }
    let credentials =
      process.asksApple ? FileChecks.credentials(report, now: now, &list) : []
    if process == .worker { FileChecks.bounds(report, &list) }
    guard connects else { return list }
    if !KafkaChecks.topics(of: process, report.read).isEmpty, mayConnect("kafka", report, &list) {
      KafkaChecks.run(report.read, for: process, timeout: timeout, &list)
    }
    if process.asksRedis, mayConnect("redis", report, &list) {
      list.append(
        await RedisChecks.run(
          report.read, for: process, timeout: timeout, deniesWarnings: deniesWarnings))
    }
    if process.asksApple, mayConnect("apns", report, &list) {
      list.append(
        await APNsChecks.run(
          report.read, credentials, timeout: timeout, deniesWarnings: deniesWarnings, now: now))
    }
    return list
  }

  /// Without these one can see whether Apple's servers are there, but show them no credentials.
  private static func isCredential(_ key: String) -> Bool {
    let own = [
      "key_file", "key_id", "team_id", "certificate_file", "certificate_key_file",
      "certificate_passphrase_file",
    ]
    return key.hasPrefix("apns.apps") || own.contains { key == "apns." + $0 }
  }

  /// A mistake in one part of the configuration says nothing about the others.
  private static func mayConnect(
    _ area: String, _ report: SettingsReport, _ list: inout CheckList
  ) -> Bool {
    let isWrong = report.problems.contains { problem in
      // What names no key is about the whole file.
      guard let key = problem.key else { return true }
      return (key == area || key.hasPrefix(area + ".")) && !isCredential(key)
    }
    if isWrong {
      list.skipped(area, "not connected to while its part of the configuration is wrong")
    }
    return !isWrong
  }
}
