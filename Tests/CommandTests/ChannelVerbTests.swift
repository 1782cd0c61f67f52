import JSON
import Processes
import Testing

/// `fanfare channel` against a simulator.
@Suite struct ChannelVerbTests {
  private let simulator: CommandSimulator
  private var directory: ScratchDirectory { simulator.directory }

  init() throws { simulator = try CommandSimulator() }

  private func channel(_ arguments: [String]) throws -> Command.Outcome {
    try simulator.run(["channel"] + arguments, hosts: ["channels_", "broadcast_"])
  }

  @Test func aChannelIsMadeShownSentToListedAndDeleted() throws {
    let app = ["--app", "com.example.live"]
    let made = try channel(["create", "--storage", "last", "--json"] + app)
    let id = try #require(
      try JSONValue.parse(Array(made.text.utf8)).object?["channel"]?.string, "\(made.text)")
    #expect(made.code == 0)
    let shown = try channel(["show", "--channel", id] + app)
    #expect(shown.code == 0 && shown.text.contains("last"), "\(shown.text)")
    #expect(try channel(["list"] + app).text == id + "\n")
    _ = try directory.write(
      """
      push_type: liveactivity
      payload:
        aps:
          event: update
          timestamp: "{{event.occurred_at}}"
          content-state: { title: "{{stream.title}}" }
      """, to: "la.yaml")
    let sent = try channel(
      ["send", "--channel", id, "--template", "la", "--expires-in", "1h"] + app)
    #expect(sent.code == 0 && sent.text.contains("200"), "\(sent.text)")
    #expect(try channel(["delete", "--channel", id] + app).code == 0)
    let gone = try channel(["send", "--channel", id, "--template", "la"] + app)
    #expect(gone.code == 1 && gone.text.contains("ChannelNotRegistered"), "\(gone.text)")
    #expect(gone.text.contains("was the channel deleted"))
    #expect(try channel(["list"] + app).text == "")
  }

  @Test(arguments: [
    ("FeatureNotEnabled", 1), ("TopicMismatch", 78), ("TooManyRequests", 75), ("Shutdown", 69),
  ])
  func explainsARefusal(_ reason: String, _ code: Int32) throws {
    let refused = try channel(["list", "--app", "com.example.\(reason)"])
    #expect(refused.code == code && refused.text.contains(reason), "\(refused.text)")
    #expect(refused.text.contains("what to do"))
  }

  @Test func aTemplateOfAnotherTypeIsNoBroadcast() throws {
    _ = try directory.write("payload: { aps: { alert: hello } }\n", to: "alert.yaml")
    let refused = try channel([
      "send", "--channel", "dHN0LXNyY2gtY2hubA==", "--template", "alert", "--app", "a.b",
    ])
    #expect(refused.code == 64 && refused.text.contains("liveactivity alone"), "\(refused.text)")
  }
}
