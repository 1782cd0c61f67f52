import Assembly
import Settings
import Terminal
import Text

/// Whether this machine gives a worker what its configuration asks for. Memory is in `FileChecks`.
enum HostChecks {
  /// A lane waits for answers most of the time: so many share a processor (docs/operations.md).
  private static let lanesPerProcessor = 5
  /// Of a lane: its loop, its connections to Redis.
  private static let otherDescriptorsPerLane = 16
  /// Kafka's clients, probes, files, the log.
  private static let otherDescriptors = 128
  /// A worker that is a second off is told of in its log; beyond a minute it leaves its group.
  private static let mostClockError = Duration.seconds(1)

  static func run(
    _ settings: Settings, for process: CheckedProcess, _ facts: HostFacts, _ list: inout CheckList
  ) {
    if process == .worker {
      descriptors(settings, facts, &list)
      ports(settings, facts, &list)
      lanes(settings, facts, &list)
    }
    clock(facts, &list)
    timeZones(settings, facts, &list)
  }

  private static func descriptors(
    _ settings: Settings, _ facts: HostFacts, _ list: inout CheckList
  ) {
    let needed =
      Assembly.mostConnections(settings)
      + Assembly.lanes(settings) * otherDescriptorsPerLane + otherDescriptors
    let found = "it may open \(Figures.grouped(facts.descriptors)) files and connections, and this "
    let words = found + "configuration may need \(Figures.grouped(needed)) under load"
    if facts.descriptors >= needed {
      list.ok("host.open_files", words)
    } else {
      list.problem(
        "host.open_files", .dependency, words,
        hint: "raise the hard limit to \(needed) or more: ulimit -Hn, LimitNOFILE= of systemd, "
          + "--ulimit nofile of a container")
    }
  }

  private static func ports(
    _ settings: Settings, _ facts: HostFacts, _ list: inout CheckList
  ) {
    guard let range = facts.ephemeralPorts else {
      return list.skipped("host.ports", "the range of local ports is not known")
    }
    // Connections that were closed keep their ports for a minute.
    let needed = 2 * Assembly.mostConnections(settings)
    let words =
      "\(Figures.grouped(range.count)) local ports (\(range.lowerBound)–\(range.upperBound)), and "
      + "this configuration may need \(Figures.grouped(needed)) to one address"
    if range.count >= needed {
      list.ok("host.ports", words)
    } else {
      list.problem(
        "host.ports", .dependency, words,
        hint: "sysctl -w net.ipv4.ip_local_port_range='1024 65535'")
    }
  }

  private static func lanes(
    _ settings: Settings, _ facts: HostFacts, _ list: inout CheckList
  ) {
    let lanes = Assembly.lanes(settings)
    let most = facts.processors * lanesPerProcessor
    let words =
      "\(lanes) \(lanes == 1 ? "lane" : "lanes") on \(facts.processors) "
      + "\(facts.processors == 1 ? "processor" : "processors")"
    if lanes <= most {
      list.ok("host.processors", words)
    } else {
      list.warning(
        "host.processors", .configuration, "\(words): at most \(most) lanes have enough of them",
        key: "lanes.count", hint: "lower lanes.count, or run more workers")
    }
  }

  private static func clock(_ facts: HostFacts, _ list: inout CheckList) {
    let error = DurationText.text(facts.clockError)
    switch facts.isClockKept {
    case nil:
      list.skipped("host.clock", "whether something keeps the clock right is not known")
    case false:
      list.warning(
        "host.clock", .dependency, "nothing keeps this machine's clock right",
        hint: "run chrony or systemd-timesyncd; in a container, on its host")
    case true where facts.clockError > mostClockError:
      list.warning(
        "host.clock", .dependency,
        "the clock is kept, and may be wrong by \(error) all the same: at most "
          + "\(DurationText.text(mostClockError)) is well",
        hint: "chronyc tracking, or timedatectl timesync-status, says why")
    case true:
      list.ok("host.clock", "the clock is kept, and is wrong by \(error) at most")
    }
  }

  private static func timeZones(
    _ settings: Settings, _ facts: HostFacts, _ list: inout CheckList
  ) {
    if facts.hasTimeZones {
      list.ok("host.time_zones", "time zones are in \(Assembly.timeZoneDirectory)")
    } else if settings.rules.quietHours {
      list.problem(
        "host.time_zones", .dependency,
        "\(Assembly.timeZoneDirectory) has no time zones, and rules.quiet_hours needs them",
        key: "rules.quiet_hours", hint: "install the package tzdata")
    } else {
      list.skipped(
        "host.time_zones",
        "\(Assembly.timeZoneDirectory) has no time zones; without rules.quiet_hours none are needed"
      )
    }
  }
}
