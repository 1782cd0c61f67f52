import Render
import Rules
import Settings
import Telemetry

/// What settings name files for: the templates, time zones.
extension Assembly {
  /// Reads the time zones when hours may be quiet. What changes in them later is known to the next
  /// process.
  package static func rules(_ settings: Settings) throws(SettingsError) -> RecipientRules {
    var rules = RecipientRules(
      mutesStreamers: settings.rules.mutedStreamers,
      picksNewestDevice: settings.rules.devices == .newest,
      eventsPerHour: settings.rules.eventsPerHour > 0 ? settings.rules.eventsPerHour : nil)
    if settings.rules.quietHours {
      let clocks = ZoneDirectory.read(
        ZoneDirectory.path, since: WallClock.nowMilliseconds() / 1000)
      guard !clocks.isEmpty else {
        throw problem(
          "rules.quiet_hours", "needs time zones, and \(ZoneDirectory.path) has none",
          hint: "install the package tzdata")
      }
      let name = settings.rules.defaultTimeZone ?? "UTC"
      guard let fallback = TimeZones(clocks).clock(named: name) else {
        throw problem(
          "rules.default_time_zone", "\(Shown.value(name)) is no time zone of this system",
          hint: "it is a name such as Europe/Berlin")
      }
      rules.timeZones = TimeZones(clocks, fallback: fallback)
    }
    return rules
  }

  /// What is allowed and wakes people; nil where nothing is.
  package static func ruleWarning(_ settings: Settings) -> String? {
    guard settings.rules.quietHours, settings.rules.defaultTimeZone == nil else { return nil }
    return
      "rules.quiet_hours is on and rules.default_time_zone is not set: who has no time zone in "
      + "the profile, or one that nobody knows, has quiet hours by UTC: set it to the zone that "
      + "most of your users live in"
  }

  /// Reads and compiles every template; throws all problems of all files at once.
  package static func templates(_ settings: Settings) throws(SettingsError) -> [Template] {
    let (templates, problems) = templatesAndProblems(settings)
    guard problems.isEmpty else { throw SettingsError(code: .invalidTemplates, problems: problems) }
    return templates
  }

  /// The same for whoever goes on with those that are sound.
  package static func templatesAndProblems(
    _ settings: Settings
  ) -> (templates: [Template], problems: [SettingsFinding]) {
    let (sources, unreadable) = TemplateFile.readWhatCanBe(in: settings.templates.directory)
    var problems = unreadable
    var templates: [Template] = []
    for source in sources {
      do {
        templates.append(try Template.compile(source))
      } catch {
        problems += findings(error, file: source.file)
      }
    }
    return (templates, problems)
  }

  /// One template file: what `fanfare render` shows while somebody writes it.
  package static func template(file: String) throws(SettingsError) -> Template {
    let source = try TemplateFile.read(file: file)
    do {
      return try Template.compile(source)
    } catch {
      throw SettingsError(code: .invalidTemplates, problems: findings(error, file: file))
    }
  }

  private static func findings(_ error: RenderError, file: String) -> [SettingsFinding] {
    guard !error.problems.isEmpty else {
      return [SettingsFinding(.problem, place: file, key: nil, message: error.message)]
    }
    return error.problems.map { finding(.problem, $0) }
  }

  package static func finding(
    _ severity: SettingsFinding.Severity, _ problem: RenderError.Problem
  ) -> SettingsFinding {
    SettingsFinding(
      severity, place: "\(problem.file):\(problem.place.line):\(problem.place.column)", key: nil,
      message: problem.message)
  }
}
