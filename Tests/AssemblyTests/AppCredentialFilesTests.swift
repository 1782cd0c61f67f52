import Assembly
import Deliver
import Model
import Pipeline
import Processes
import Settings
import TLS
import Testing
import Threads

/// Apps with credentials of their own, from their files.
@Suite struct AppCredentialFilesTests {
  private let directory: ScratchDirectory
  private let first: Settings.APNs.Credentials
  private let second: Settings.APNs.Credentials

  init() throws {
    directory = try ScratchDirectory()
    for id in ["FIRSTKEY01", "SECONDKEY2"] {
      try directory.write(ES256Key.generate().privateKeyPEM, to: "AuthKey_\(id).p8")
    }
    first = .init(keyFile: directory.file("AuthKey_FIRSTKEY01.p8"), teamID: "TEAMTEAM01")
    second = .init(keyFile: directory.file("AuthKey_SECONDKEY2.p8"), teamID: "TEAMTEAM02")
  }

  private func settings(
    _ others: Settings.APNs.Credentials?, _ apps: [String: Settings.APNs.Credentials]
  ) -> Settings {
    var settings = Settings.defaults
    settings.apns.apps = apps
    settings.apns.keyFile = others?.keyFile
    settings.apns.teamID = others?.teamID
    return settings
  }

  @Test func appsOfOneTeamShareItsConnections() throws {
    let files = try AppCredentialFiles(
      settings(first, ["a.b": second, "c.d": second, "e.f": first]))
    let credentials = files.credentials
    #expect(credentials.all.map(\.name) == ["a.b, c.d", "e.f, other apps"])
    #expect(
      credentials.index(of: "a.b", on: "apns") == credentials.index(of: "c.d.voip", on: "apns"))
    #expect(credentials.index(of: "e.f", on: "apns") == credentials.index(of: "x.y", on: "apns"))
    #expect(credentials.index(of: "a.b", on: "apns") != credentials.index(of: "x.y", on: "apns"))
    #expect(files.look().isEmpty && files.expiresAt == nil)
  }

  @Test func onlyNamedAppsAreServedWithoutOthers() throws {
    let credentials = try AppCredentialFiles(settings(nil, ["a.b": first])).credentials
    #expect(credentials.all.map(\.name) == [nil])
    #expect(
      credentials.index(of: "a.b", on: "apns") == 0
        && credentials.index(of: "x.y", on: "apns") == nil)
  }

  @Test func aChangeSaysWhose() throws {
    var apps = ["a.b": second]
    let certificate = try ThrowAwayAuthority(hosts: []).client(
      subjectID: "c.d", topics: nil, days: 20)
    apps["c.d"] = .init(certificateFile: try directory.write(certificate, to: "c.pem"))
    let files = try AppCredentialFiles(settings(first, apps))
    try directory.write("broken", to: "AuthKey_SECONDKEY2.p8")
    let changes = files.look()
    guard case .refused(let why) = changes.first?.change,
      case .expires(let what) = changes.last?.change
    else {
      Issue.record("\(changes)")
      return
    }
    #expect(why.hasPrefix("a.b: ") && what.hasPrefix("c.d: certificate for c.d, until 20"))
    #expect(changes.map(\.platform) == [.apns, .apns] && files.expiresAt != nil)
  }

  /// From the start on, or from when they took the place of others; a broken file changes nothing.
  @Test func eachHasAnAge() throws {
    let now = ThreadLock<Int64>(1_000)
    let files = try AppCredentialFiles(settings(first, ["a.b": second])) { now.withLock { $0 } }
    let file = "AuthKey_SECONDKEY2.p8"
    now.withLock { $0 = 2_000 }
    try directory.write("broken", to: file)
    #expect(files.look().count == 1)
    #expect(files.ages.map(\.since) == [1_000, 1_000])
    try directory.write(ES256Key.generate().privateKeyPEM, to: file)
    #expect(files.look().count == 1)
    #expect(
      files.ages == [
        CredentialAge(name: "apns a.b", since: 2_000),
        CredentialAge(name: "apns other apps", since: 1_000),
      ])
  }

  @Test func whatIsWrongIsCalledByItsSetting() throws {
    let missing = Settings.APNs.Credentials(keyFile: "/nowhere", teamID: "TEAMTEAM01")
    for (apps, key) in [
      (["a.b": missing], "apns.apps.a.b.key_file"),
      (["a.b": .init(certificateFile: "/nowhere")], "apns.apps.a.b.certificate_file"),
    ] {
      let error = #expect(throws: SettingsError.self) {
        _ = try AppCredentialFiles(self.settings(first, apps))
      }
      #expect(error?.problems.map(\.key) == [key])
    }
  }

  @Test func theMemoryBudgetCountsEachTeam() {
    let one = Assembly.memoryBudget(settings(first, ["a.b": first]))
    let two = Assembly.memoryBudget(settings(first, ["a.b": second]))
    let bytes = [one, two].map { $0.lane.first { $0.name == "connections" }?.bytes ?? 0 }
    #expect(bytes[1] == 2 * bytes[0] && bytes[0] > 0)
  }
}
