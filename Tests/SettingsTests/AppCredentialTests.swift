import Testing

@testable import Settings

/// `apns.apps`: credentials by bundle id.
@Suite struct AppCredentialTests {
  @Test func readsAMappingOfMappings() throws {
    var fixture = try SettingsFixture(
      """
      apns:
        apps:
          com.example.live: { key_file: a.p8, key_id: ABC123DEFG, team_id: DEF123GHIJ }
          com.example.other:
            certificate_file: /run/c.p12
            certificate_passphrase_file: /run/passphrase
      """)
    // Relative paths begin at the file's directory.
    let apps = fixture.load().read.apns.apps
    #expect(apps["com.example.live"]?.keyFile?.hasSuffix("/a.p8") == true)
    #expect(apps["com.example.live"]?.keyID == "ABC123DEFG")
    #expect(apps["com.example.live"]?.teamID == "DEF123GHIJ")
    #expect(
      apps["com.example.other"]
        == .init(certificateFile: "/run/c.p12", certificatePassphraseFile: "/run/passphrase"))
    // A flag adds to them, a variable stands for all.
    fixture.overrides = [("apns.apps.com.example.third.key_file", "/b.p8")]
    #expect(fixture.load().read.apns.apps.count == 3)
    fixture.overrides = []
    fixture.environment = [
      "FANFARE_APNS_APPS":
        "com.example.third.key_file=/b.p8, com.example.third.team_id=DEF123GHIJ"
    ]
    #expect(
      fixture.load().read.apns.apps
        == ["com.example.third": .init(keyFile: "/b.p8", teamID: "DEF123GHIJ")])
  }

  @Test(arguments: [
    ("{a.b: {key: x}}", "`a.b.key` must end with one of certificate_file,"),
    ("{a.b: {team_id: short}}", "`a.b.team_id` must be 10 capital letters"),
    ("{'a b': {team_id: DEF123GHIJ}}", "`a b` must be a bundle id"),
    ("{a.b: [x]}", "`a.b` must end with one of"), ("{a.b: {}}", "`a.b` must end with one of"),
    ("{a.b: }", "`a.b` must end with one of"),
    ("{a.b: {key_file: [x]}}", "`a.b.key_file` must be the path of a file or directory"),
    ("{a.b: {key_file: ''}}", "`a.b.key_file` must be the path"),
    ("[a]", "must be a mapping of mappings"),
  ])
  func saysWhatIsWrong(apps: String, message: String) throws {
    let problems = try SettingsFixture("apns: {apps: \(apps)}\n").load().problems
    let found = problems.first { $0.key == "apns.apps" }
    #expect(found?.message.contains(message) == true, "\(problems)")
  }

  @Test(arguments: [
    ("{a.b: {key_file: /k.p8}}", "apns.apps.a.b.team_id"),
    ("{a.b: {team_id: DEF123GHIJ}}", "apns.apps.a.b.key_file"),
    ("{a.b: {certificate_file: /c.p12, team_id: DEF123GHIJ}}", "apns.apps.a.b.team_id"),
    ("{a.b: {certificate_file: /nowhere}}", "apns.apps.a.b.certificate_file"),
  ])
  func anAppHasAKeyOrACertificate(apps: String, key: String) throws {
    var fixture = try SettingsFixture("apns: {apps: \(apps)}\n")
    fixture.requirements = .credentials
    let problems = fixture.load().problems
    #expect(problems.contains { $0.key == key && $0.place?.contains("fanfare.yaml") == true })
  }

  /// Of all others there may be none.
  @Test func namedAppsAreEnoughToSend() throws {
    var fixture = try SettingsFixture("apns: {apps: {a.b: {certificate_file: c.p12}}}")
    try fixture.directory.write("secret", to: "c.p12")
    fixture.requirements = [.credentials]
    #expect(fixture.load().problems.isEmpty, "\(fixture.load().problems)")
  }
}
