import APNs
import Assembly
import Deliver
import Settings

/// Checks that need no connection.
enum FileChecks {
  static func configuration(
    _ report: SettingsReport, file: String?, _ list: inout CheckList
  ) {
    for finding in report.findings { list.add("configuration.settings", finding) }
    if report.problems.isEmpty {
      list.ok(
        "configuration.settings",
        file.map { "\($0) is valid" } ?? "no file; defaults and what is set over them")
    }
  }

  /// For the limit of the worker's container; and what its end costs.
  static func bounds(_ report: SettingsReport, _ list: inout CheckList) {
    // Everything that the sum is made of has a default; with a mistake there it would be another's.
    let isWrong = report.problems.contains { problem in
      problem.key.map { !$0.hasPrefix("apns.key_") && $0 != "apns.team_id" } ?? true
    }
    guard !isWrong else {
      return list.skipped("memory.budget", "not reckoned while the configuration is wrong")
    }
    list.ok("memory.budget", "\(Assembly.memoryBudget(report.read))")
    if let warning = Assembly.memoryWarning(report.read) {
      list.warning("memory.limit", .configuration, warning, key: "lanes.count")
    }
    list.ok("crash.bound", "\(Assembly.crashBound(report.read))")
  }

  static func templates(_ settings: Settings, _ list: inout CheckList) {
    let (templates, problems) = Assembly.templatesAndProblems(settings)
    for template in templates {
      let locales = template.locales.joined(separator: ", ")
      list.ok("templates.content", "\(template.name): \(template.pushType.rawValue), \(locales)")
      for warning in template.warnings {
        list.add("templates.content", Assembly.finding(.warning, warning))
      }
    }
    for problem in problems + TemplateFile.warnings(in: settings.templates.directory) {
      list.add("templates.content", problem)
    }
  }

  /// Of a process that compiles none of them.
  static func templateNames(_ settings: Settings, _ list: inout CheckList) {
    let directory = settings.templates.directory
    guard let names = TemplateFile.names(in: directory) else {
      return list.skipped(
        "templates.names", "\(directory) cannot be read: events are not checked for their template")
    }
    list.ok("templates.names", "events name one of \(names.joined(separator: ", "))")
  }

  static func rules(_ settings: Settings, _ list: inout CheckList) {
    guard settings.rules.quietHours else { return }
    do {
      let zones = try Assembly.rules(settings).timeZones?.count ?? 0
      let name = settings.rules.defaultTimeZone ?? "UTC"
      list.ok("rules.time_zones", "\(zones) time zones; in doubt it is \(name)'s time")
      if let warning = Assembly.ruleWarning(settings) {
        list.add(
          "rules.default_time_zone",
          SettingsFinding(
            .warning, place: nil, key: "rules.default_time_zone", message: warning))
      }
    } catch {
      list.add("rules.time_zones", error)
    }
  }

  /// Nothing where `fanfare api` is not configured, unless it is needed: a worker's configuration
  /// needs none of it.
  static func api(
    _ settings: Settings, isNeeded: Bool, now: Int64, _ list: inout CheckList
  ) {
    if isNeeded {
      do { try Assembly.checkAPIHost(settings) } catch { list.add("api.host", error) }
    }
    if isNeeded || settings.api.keysFile != nil {
      do {
        let keys = try Assembly.apiKeys(settings).keys.count
        list.ok("api.keys", "\(keys == 1 ? "1 key" : "\(keys) keys") in api.keys_file")
      } catch {
        list.add("api.keys", error)
      }
    }
    do {
      guard let certificate = try Assembly.apiCertificate(settings) else { return }
      let end = certificate.expiresAt * 1000
      guard end > now else {
        return list.problem(
          "api.certificate", .configuration, "its certificate has expired",
          key: "api.tls.certificate_file")
      }
      list.ok("api.certificate", "its certificate and key belong together")
      if let days = fewDays(until: end, now) {
        list.warning(
          "api.certificate", .configuration, "its certificate expires in \(days) days",
          key: "api.tls.certificate_file", hint: "fanfare api reads another as soon as it is there")
      }
    } catch {
      list.add("api.certificate", error)
    }
  }

  /// Those that Apple could take.
  static func credentials(
    _ report: SettingsReport, now: Int64, _ list: inout CheckList
  ) -> [CheckedCredentials] {
    let settings = report.read
    let groups = CredentialGroup.all(settings)
    return groups.compactMap { group in
      // Problems with these keys are listed already; one without a key is about the whole file.
      let keys = ["key_file", "key_id", "team_id", "certificate_file"].map { group.prefix + $0 }
      guard !report.problems.contains(where: { $0.key.map(keys.contains) ?? true }) else {
        list.skipped(
          group.settings.certificateFile == nil ? "key.file" : "certificate.file",
          "not looked at while the configuration is wrong")
        return nil
      }
      let credentials =
        group.settings.certificateFile == nil
        ? key(group, settings.apns, now, &list) : certificate(group, settings.apns, now, &list)
      return credentials.map {
        CheckedCredentials(
          name: groups.count > 1 ? group.name : nil, prefix: group.prefix, credentials: $0)
      }
    }
  }

  private static func certificate(
    _ group: CredentialGroup, _ apns: Settings.APNs, _ now: Int64, _ list: inout CheckList
  ) -> APNsCredentials? {
    let key = group.prefix + "certificate_file"
    do {
      let files = try CertificateCredentials(group, apns)
      let end = files.contents.expiresAt * 1000
      guard end > now else {
        list.problem(
          "certificate.validity", .configuration, "it has expired: \(files.contents.words)",
          key: key,
          hint: "renew it in the Apple developer account")
        return nil
      }
      list.ok("certificate.validity", files.contents.words)
      if let days = fewDays(until: end, now) {
        list.warning(
          "certificate.validity", .configuration, "it expires in \(days) days", key: key,
          hint: "renew it in the Apple developer account, and put it in the place of this one")
      }
      compare(group, with: files.contents.servedTopics, key: key, &list)
      return files.credentials
    } catch {
      list.add("certificate.file", error)
      return nil
    }
  }

  /// Whole days until a certificate's end, where that is near enough to be warned of.
  private static func fewDays(until end: Int64, _ now: Int64) -> Int64? {
    end - now < CertificateCredentials.warnedOf ? (end - now) / (24 * 3600 * 1000) : nil
  }

  /// An app that its certificate does not name.
  private static func compare(
    _ group: CredentialGroup, with topics: [String], key: String, _ list: inout CheckList
  ) {
    for app in group.apps where !topics.contains(app) {
      list.problem(
        "certificate.topics", .configuration,
        "it does not name \(app), so Apple refuses its pushes",
        key: key)
    }
  }

  /// Nil when there is no usable key.
  private static func key(
    _ group: CredentialGroup, _ apns: Settings.APNs, _ now: Int64, _ list: inout CheckList
  ) -> APNsCredentials? {
    let field = group.prefix + "key_file"
    guard let path = group.settings.keyFile, let teamID = group.settings.teamID else {
      list.skipped("key.file", "\(field) and \(group.prefix)team_id are not both set")
      return nil
    }
    do {
      let tokens = try ProviderCredentials(group, apns).tokens
      _ = try tokens.token(now: now)
      list.ok("key.file", "\(path) signs, as key \(tokens.keyID) of team \(teamID)")
      return .key(tokens)
    } catch let error as SettingsError {
      list.add("key.file", error)
    } catch {
      list.problem("key.file", .configuration, "\(error)", key: field)
    }
    return nil
  }
}
