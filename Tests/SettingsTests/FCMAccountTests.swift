import Testing

@testable import Settings

/// `fcm`: projects of Firebase, and where their access tokens come from.
@Suite struct FCMAccountTests {
  @Test func readsAProgramAndItsArguments() throws {
    var fixture = try SettingsFixture(
      "fcm: {token_command: [/usr/bin/token, --of, 'a b'], project: p-1}\n")
    #expect(try fixture.settings().fcm.account.sources == ["token_command"])
    #expect(try fixture.settings().fcm.tokenCommand == ["/usr/bin/token", "--of", "a b"])
    fixture.overrides = [("fcm.token_command", "other, one")]
    #expect(try fixture.settings().fcm.tokenCommand == ["other", "one"])
  }

  @Test func readsAppsOfOtherProjects() throws {
    var fixture = try SettingsFixture(
      """
      fcm:
        messages_per_minute: 540000
        metadata: true
        apps:
          com.example.live: { service_account_file: a.json, messages_per_minute: 60000 }
          com.example.other: { token_command: [token, 'a, b'], project: p-2 }
          com.example.third: { metadata: true, project: p-3 }
      """)
    let fcm = try fixture.settings().fcm
    #expect(fcm.isConfigured && fcm.account.sources == ["metadata"])
    #expect(fcm.metadataHost == "metadata.google.internal:80" && fcm.messagesPerMinute == 540_000)
    let live = fcm.apps["com.example.live"]
    #expect(live?.serviceAccountFile?.hasSuffix("/a.json") == true)
    #expect(live?.messagesPerMinute == 60_000 && live?.sources == ["service_account_file"])
    let other = fcm.apps["com.example.other"]
    #expect(other?.tokenCommand == ["token", "a, b"] && other?.project == "p-2")
    #expect(other?.messagesPerMinute == nil)
    #expect(fcm.apps["com.example.third"]?.metadata == true)
    fixture.overrides = [("fcm.apps.com.example.fourth.metadata", "true")]
    #expect(try fixture.settings().fcm.apps.count == 4)
  }

  @Test func exactlyOneSourceSaysWhoWeAre() throws {
    for (yaml, key, message) in [
      (
        "{service_account_file: a, metadata: true}", "fcm.metadata",
        "does not go with fcm.service_account_file: one of them says who we are"
      ),
      (
        "{token_file: a, token_command: [b], project: p}", "fcm.token_command",
        "does not go with fcm.token_file: one of them says who we are"
      ),
      (
        "{token_command: [b]}", "fcm.token_command",
        "needs fcm.project: the token does not say which project it is for"
      ),
      (
        "{apps: {a.b: {project: p}}}", "fcm.apps.a.b.service_account_file",
        "is not set: sending needs it, or token_file, token_command or metadata"
      ),
      (
        "{apps: {a.b: {metadata: true, token_file: c}}}", "fcm.apps.a.b.metadata",
        "does not go with fcm.apps.a.b.token_file: one of them says who we are"
      ),
      (
        "{apps: {a.b: {token_file: c}}}", "fcm.apps.a.b.token_file",
        "needs fcm.apps.a.b.project: the token does not say which project it is for"
      ),
    ] {
      let problems = try SettingsFixture("fcm: \(yaml)\n").load().problems
      #expect(problems.contains { $0.key == key && $0.message == message }, "\(yaml): \(problems)")
    }
    #expect(try SettingsFixture("fcm: {metadata: true}\n").load().problems.isEmpty)
  }

  @Test(arguments: [
    ("{a.b: {metadata: maybe}}", "`a.b.metadata` must be true or false"),
    ("{a.b: {messages_per_minute: -1}}", "`a.b.messages_per_minute` must be at least 0"),
    ("{a.b: {token_command: []}}", "`a.b.token_command` must not be empty"),
    ("{a.b: {token_command: [{x: y}]}}", "`a.b.token_command` must be a program"),
    ("{a.b: {key_file: x}}", "`a.b.key_file` must end with one of messages_per_minute,"),
  ])
  func saysWhatIsWrongWithAnApp(apps: String, message: String) throws {
    let problems = try SettingsFixture("fcm: {apps: \(apps)}\n").load().problems
    let found = problems.first { $0.key == "fcm.apps" }
    #expect(found?.message.contains(message) == true, "\(problems)")
  }
}
