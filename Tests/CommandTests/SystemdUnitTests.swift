import Checkout
import Fixtures
import Glibc
import Processes
import ServerProcesses
import Settings
import Terminal
import Testing

@testable import fanfare

/// The units in Config/systemd, which say things that the command line and the settings say, too.
struct SystemdUnit: CustomTestStringConvertible {
  let verb: String

  static let all = ["worker", "api", "dashboard"].map(SystemdUnit.init)

  var testDescription: String { verb }
  var name: String { "fanfare-\(verb).service" }

  func text() throws -> String { try Checkout.text("Config/systemd/\(name)") }

  /// The values of a key, which is at the beginning of a line.
  func values(_ key: String) throws -> [String] {
    try text().split(separator: "\n").filter { $0.hasPrefix(key + "=") }
      .map { String($0.dropFirst(key.count + 1)) }
  }

  /// The only one.
  func value(_ key: String) throws -> String {
    let values = try values(key)
    try #require(values.count == 1, "\(name): \(key) is there \(values.count) times")
    return values[0]
  }

  /// Written as `45s`.
  func time(_ key: String) throws -> Duration {
    let text = try value(key)
    try #require(text.hasSuffix("s"))
    return .seconds(try #require(Int(text.dropLast())))
  }
}

@Suite struct SystemdUnitTests {
  @Test func eachUnitOfTheFolderIsTested() throws {
    let units = try Checkout.names(in: "Config/systemd").filter { $0.hasSuffix(".service") }
    #expect(units == SystemdUnit.all.map(\.name).sorted())
  }

  @Test(arguments: SystemdUnit.all)
  func theProgramUnderstandsItsCommandLine(of unit: SystemdUnit) throws {
    let words = try unit.value("ExecStart").split(separator: " ").map(String.init)
    #expect(words.first == "/usr/bin/fanfare")
    guard case .run(let command) = try fanfareProgram.parse(Array(words.dropFirst())) else {
      Issue.record("\(words) runs nothing")
      return
    }
    #expect(command.path == [unit.verb])
    #expect(words.contains("/etc/fanfare/fanfare.yaml"))
  }

  @Test(arguments: SystemdUnit.all)
  func systemdIsToldAndWatches(_ unit: SystemdUnit) throws {
    #expect(try unit.value("Type") == "notify")
    #expect(try unit.value("NotifyAccess") == "main")
    #expect(try unit.value("Restart") == "on-failure")
    #expect(try unit.value("KillSignal") == "SIGTERM")
    let codes = try unit.value("RestartPreventExitStatus").split(separator: " ")
    #expect(codes.map { Int32($0) } == [ExitCode.usage.rawValue, ExitCode.config.rawValue])
    // A look at `/livez` takes 2 s before it fails: the watchdog is no stricter.
    #expect(try unit.time("WatchdogSec") / 2 > .seconds(2))
    // The first sign of life that asks for more time comes after half of the watchdog's time.
    #expect(try unit.time("TimeoutStartSec") > unit.time("WatchdogSec"))
    // The socket of systemd.
    #expect(try unit.value("RestrictAddressFamilies").split(separator: " ").contains("AF_UNIX"))
    let reloads = try unit.values("ExecReload")
    #expect(reloads == (unit.verb == "dashboard" ? [] : ["/bin/kill -HUP $MAINPID"]))
  }

  @Test(arguments: SystemdUnit.all)
  func aStopHasTheTimeThatTheSettingsGiveIt(of unit: SystemdUnit) throws {
    let settings = Settings.defaults
    let longest = unit.verb == "worker" ? settings.lanes.drainTimeout : settings.api.exchangeTimeout
    // Afterwards a worker commits (3 s), leaves its group and ends.
    #expect(try unit.time("TimeoutStopSec") >= longest + .seconds(15))
    #expect(try unit.text().contains("(\(longest.components.seconds)s)"), "the comment says it")
  }

  @Test(arguments: SystemdUnit.all)
  func settingsThatItNamesExist(in unit: SystemdUnit) throws {
    let text = try unit.text()
    let variables = text.matches(of: /FANFARE_[A-Z_]+/).map { String($0.0) }
    let known = Set(SettingTable.keys.map(\.environmentName))
    for variable in variables { #expect(known.contains(variable), "\(variable)") }
    #expect(!variables.isEmpty)
    let ports = text.matches(of: /--port (\d+)/).compactMap { Int($0.1) }
    #expect(ports == (unit.verb == "dashboard" ? [8_090] : []))
  }

  private static let analyzer = "/usr/bin/systemd-analyze"

  @Test(.enabled(if: access(analyzer, X_OK) == 0), arguments: SystemdUnit.all)
  func systemdUnderstandsIt(_ unit: SystemdUnit) throws {
    let directory = try ScratchDirectory()
    // The program is not installed here.
    let text = try unit.text().replacing("ExecStart=/usr/bin/fanfare", with: "ExecStart=/bin/true")
    let file = try directory.write(text, to: unit.name)
    let process = try ChildProcess(
      [Self.analyzer, "verify", "--man=no", file], output: .pipe,
      environment: ["SYSTEMD_LOG_LEVEL": "warning"])
    let said = process.readToEnd()
    #expect(process.waitForExit() == 0, "\(said)")
    #expect(!said.contains(unit.name), "\(said)")
  }

  /// The whole process: the dashboard needs only Redis.
  @Test func theDashboardTellsSystemdHowItIs() async throws {
    let redis = try RedisServerProcess()
    let systemd = try DatagramServer()
    let process = try ChildProcess(
      [Command.path, "dashboard", "--port", "0", "--set", "redis.port=\(redis.port)"],
      environment: [
        "FANFARE_CONFIG": "", "NOTIFY_SOCKET": systemd.name, "WATCHDOG_USEC": "400000",
      ])
    _ = try await systemd.until("READY=1")
    _ = try await systemd.until("WATCHDOG=1")
    process.signal(SIGTERM)
    _ = try await systemd.until("STOPPING=1")
    #expect(process.waitForExit() == 0)
  }
}
