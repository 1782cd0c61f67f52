import Settings

/// Everything that a worker needs, looked at before there is one.
package enum Checks {
  /// - Parameters:
  ///   - report: what was read of the configuration.
  ///   - file: where it was read.
  ///   - connects: false: files only.
  ///   - timeout: how long each of Kafka, Redis and Apple may take.
  ///   - deniesWarnings: take warnings for problems.
  ///   - now: ms since 1970.
  package static func run(
    _ report: SettingsReport, file: String?, connects: Bool, timeout: Duration,
    deniesWarnings: Bool, now: Int64
  ) async -> CheckList {
    var list = CheckList(deniesWarnings: deniesWarnings)
    FileChecks.configuration(report, file: file, &list)
    // Also with a configuration that is wrong elsewhere: its files may hold further problems.
    FileChecks.templates(report.read, &list)
    FileChecks.rules(report.read, &list)
    FileChecks.api(report.read, now: now, &list)
    let credentials = FileChecks.credentials(report.read, now: now, &list)
    FileChecks.bounds(report, &list)
    guard connects else { return list }
    if mayConnect("kafka", report, &list) {
      KafkaChecks.run(report.read, timeout: timeout, &list)
    }
    if mayConnect("redis", report, &list) {
      list.append(
        await RedisChecks.run(report.read, timeout: timeout, deniesWarnings: deniesWarnings))
    }
    if mayConnect("apns", report, &list) {
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
