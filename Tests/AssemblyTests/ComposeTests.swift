import Checkout
import Settings
import Testing

/// docker/compose.yaml against the settings: no container engine runs where this is built.
@Suite struct ComposeTests {
  private static func text() throws -> String { try Checkout.text("docker/compose.yaml") }

  /// The lines of a service.
  private static func service(_ name: String) throws -> [Substring] {
    let lines = try text().split(separator: "\n", omittingEmptySubsequences: false)
    let start = try #require(lines.firstIndex { $0 == "  \(name):" }, "\(name)")
    return lines[(start + 1)...].prefix { $0.isEmpty || $0.hasPrefix("   ") }.map { $0 }
  }

  /// The variables that a service has, those that all have among them.
  private static func variables(of name: String) throws -> [String: String] {
    let own = try service(name)
    let lines = own.contains { $0.hasSuffix("<<: *names") } ? try service("topics") + own : own
    let pairs = lines.compactMap { line in
      line.firstMatch(of: /^ +(FANFARE_[A-Z0-9_]+): (.*)$/).map { match in
        (String(match.1), match.2.filter { $0 != "\"" })
      }
    }
    return Dictionary(pairs, uniquingKeysWith: { $1 })
  }

  private static func report(_ name: String) throws -> SettingsReport {
    SettingsLoader.load(
      SettingsInput(file: nil, environment: try variables(of: name), overrides: []))
  }

  @Test(arguments: ["topics", "worker", "api", "dashboard"])
  func whatIsSetIsASetting(of service: String) throws {
    let report = try Self.report(service)
    let others = report.findings.filter { !"\($0)".contains("cannot be opened") }
    #expect(others.isEmpty, "\(others)")
    #expect(report.read.kafka.bootstrapServers == ["kafka:19092"])
    #expect(try Self.service(service).contains { $0.contains("command: [\"\(service)\"") })
  }

  @Test func theAPIIsPublishedOnLoopbackAlone() throws {
    let settings = try Self.report("api").read
    #expect(settings.api.host == "0.0.0.0" && settings.api.plain)
    let port = "\(settings.api.port)"
    #expect(
      try Self.service("api").contains("    ports: [\"127.0.0.1:\(port):\(port)\"]"))
    #expect(settings.api.keysFile == "/keys/api-keys")
    let keys = try Self.service("api-key").joined(separator: "\n")
    #expect(keys.contains("> /keys/api-keys"))
  }

  /// It takes a key, for it listens on more than loopback, and a profile starts all that it needs.
  @Test func theDashboardIsPublishedOnLoopbackAlone() throws {
    let settings = try Self.report("dashboard").read
    #expect(settings.api.plain && settings.api.keysFile == "/keys/api-keys")
    let lines = try Self.service("dashboard")
    #expect(lines.contains("    command: [\"dashboard\", \"--address\", \"0.0.0.0\"]"))
    #expect(lines.contains("    ports: [\"127.0.0.1:8090:8090\"]"))
    for service in ["dashboard", "redis", "api-key", "shared"] {
      #expect(
        try Self.service(service).contains {
          $0.hasPrefix("    profiles: [") && $0.contains("dashboard")
        },
        "\(service)")
    }
  }

  @Test(arguments: [("worker", "simulator"), ("api", "api")])
  func prometheusScrapesWhatIsThere(service: String, name: String) throws {
    let settings = try Self.report(service).read
    #expect(settings.probes.host == "0.0.0.0")
    #expect(
      try Checkout.text("docker/prometheus/prometheus.yaml")
        .contains("[\"\(name):\(settings.probes.port)\"]"))
  }
}
