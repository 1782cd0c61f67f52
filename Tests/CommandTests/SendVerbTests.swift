import JSON
import Processes
import Testing

/// `fanfare send` against a simulator.
@Suite struct SendVerbTests {
  private let simulator: CommandSimulator
  private var directory: ScratchDirectory { simulator.directory }

  init() throws { simulator = try CommandSimulator("--development") }

  private func send(_ arguments: [String], team: String = "SIMULATED2") throws -> Command.Outcome {
    try simulator.run(["send"] + arguments, team: team)
  }

  private static let good = "<" + String(repeating: "AABBCCDD ", count: 8) + ">"
  private static func magic(_ code: String) -> String {
    "fa4efa4e0" + code + String(repeating: "0", count: 52)
  }

  @Test func appleTakesAPushAndSaysItsIds() throws {
    let sent = try send([
      "--token", Self.good, "--app", "com.example.live", "--title", "Is it on?", "--json",
    ])
    #expect(sent.code == 0, "\(sent.text)")
    let report = try JSONValue.parse(Array(sent.text.utf8)).object
    #expect(report?["status"]?.integer == 200)
    #expect(report?["apns_id"]?.string?.count == 36)
    #expect(report?["apns_unique_id"]?.string?.count == 36)
    #expect(report?["answer_ms"]?.integer != nil && report?["connect_ms"]?.integer != nil)
  }

  @Test(arguments: [
    ("400", 1, "from Xcode"), ("410", 1, "registered before the timestamp"), ("429", 75, "wait"),
    ("503", 69, "after 15 minutes"), ("e07", 69, "REFUSED_STREAM"), ("40f", 78, "apns.team_id"),
  ])
  func explainsARefusal(_ code: String, _ exit: Int32, _ words: String) throws {
    let sent = try send(["--token", Self.magic(code), "--app", "com.example.live", "--body", "x"])
    #expect(sent.code == exit && sent.text.contains(words), "\(sent.text)")
  }

  @Test func saysThatTheKeyIsOfAnotherTeam() throws {
    let sent = try send(
      ["--token", Self.good, "--app", "com.example.live", "--title", "x"], team: "SIMULATED3")
    #expect(sent.code == 78 && sent.text.contains("403 InvalidProviderToken"), "\(sent.text)")
  }

  /// Apple's "Creating a location push service extension": token-based authentication only.
  @Test func aLocationPushWantsAKey() throws {
    _ = try directory.write(
      "push_type: location\npayload: { aps: {} }\n", to: "where.yaml")
    let arguments = ["send", "--app", "com.example.live"]
    // A token is of one topic.
    let other = String(repeating: "ab", count: 32)
    let place = arguments + ["--token", other, "--template", "where"]
    let pem = "apns/client-sandbox.pem"
    let refused = try simulator.run(place, certificate: pem)
    #expect(refused.code == 78 && refused.text.contains("with a key only"), "\(refused.text)")
    let alert = try simulator.run(
      arguments + ["--token", Self.good, "--title", "x"], certificate: pem)
    #expect(alert.code == 0, "\(alert.text)")
    let taken = try simulator.run(place)
    #expect(taken.code == 0, "\(taken.text)")
  }

  @Test func sendsWhatATemplateSays() throws {
    _ = try directory.write(
      """
      push_type: liveactivity
      priority: 5
      payload:
        aps:
          event: update
          timestamp: "{{event.occurred_at}}"
          content-state: { title: "{{stream.title}}" }
      """, to: "la.yaml")
    let arguments = ["--token", Self.good, "--app", "com.example.live", "--template", "la"]
    let shown = try send(arguments + ["--dry-run"])
    #expect(shown.code == 0 && shown.text.contains("apns-priority: 5"), "\(shown.text)")
    #expect(shown.text.contains("apns-topic: com.example.live.push-type.liveactivity"))
    #expect(shown.text.contains("POST https://127.0.0.1:\(simulator.port)/3/device/aabbccddaabb"))
    #expect(!shown.text.contains("bearer"))
    let asJSON = try send(arguments + ["--dry-run", "--json"])
    let request = try JSONValue.parse(Array(asJSON.text.utf8)).object
    #expect(request?["headers"]?.object?["apns-priority"]?.string == "5", "\(asJSON.text)")
    #expect(!asJSON.text.contains("bearer"))
    let sent = try send(arguments)
    #expect(sent.code == 0 && sent.text.contains("200"), "\(sent.text)")
  }

  @Test(arguments: [("fff", "gave no answer within 500ms"), ("dc0", "closed the connection")])
  func saysThatThereIsNoAnswer(_ code: String, _ words: String) throws {
    let sent = try send([
      "--token", Self.magic(code), "--app", "com.example.live", "--title", "x", "--timeout",
      "500ms",
    ])
    #expect(sent.code == 69 && sent.text.contains(words), "\(sent.text)")
  }

  /// `jq … | fanfare send --payload -`, and `--payload <(jq …)`.
  @Test func aPayloadComesThroughAPipe() throws {
    let text = #"{"aps":{"alert":"x"},"n":1,"m":12345678901234567890,"f":1.0}"#
    let file = try directory.write(text, to: "piped.json")
    for path in ["- < \(file)", "<(cat \(file))", "- < <(cat \(file))"] {
      let words =
        "\(Command.path) send --token \(Self.good.filter { $0.isHexDigit }) "
        + "--app com.example.live --dry-run --json --payload \(path)"
      let shown = try ChildProcess.run(["bash", "-c", words])
      #expect(shown.contains(#""payload":\#(text)"#), "\(shown)")
    }
  }

  @Test func refusesWhatMakesNoPush() throws {
    let sent = try send(["--token", "xyz", "--app", "com.example.live", "--title", "x"])
    #expect(sent.code == 64 && sent.text.contains("hex digits"), "\(sent.text)")
  }
}
