import Processes
import Terminal
import Testing

@testable import AppleVerbs

/// What the flags of `fanfare channel` make of a request: what `--dry-run` shows of it.
@Suite struct ChannelRequestTests {
  private static let managing = "https://api-manage-broadcast.push.apple.com:2196/1/apps/a.b/"
  private static let id = "dHN0LXNyY2gtY2hubA=="
  private let directory: ScratchDirectory

  init() throws { directory = try ScratchDirectory() }

  @Test(arguments: [("none", 0), ("last", 1)])
  func aChannelIsMadeWithItsPolicy(_ storage: String, _ policy: Int) async {
    let shown = await run("create", "--app", "a.b", "--storage", storage)
    #expect(shown.text.hasPrefix("POST \(Self.managing)channels\n"), "\(shown.text)")
    #expect(shown.text.contains("\"message-storage-policy\": \(policy)"), "\(shown.text)")
    #expect(shown.text.contains("\"push-type\": \"LiveActivity\""))
  }

  @Test func aChannelStoresNothingUnlessItIsTold() async {
    let shown = await run("create", "--app", "a.b")
    #expect(shown.text.contains("\"message-storage-policy\": 0"), "\(shown.text)")
  }

  @Test func channelsAreListed() async {
    let shown = await run("list", "--app", "a.b")
    #expect(shown.text == "GET \(Self.managing)all-channels\nnothing was sent\n")
  }

  @Test(arguments: [("show", "GET"), ("delete", "DELETE")])
  func aChannelIsNamed(_ verb: String, _ method: String) async {
    let shown = await run(verb, "--app", "a.b", "--channel", Self.id)
    let head = "\(method) \(Self.managing)channels\napns-channel-id: \(Self.id)\n"
    #expect(shown.text == head + "nothing was sent\n")
  }

  /// The port of the sandbox is another, and so are the hosts.
  @Test func theSandboxHasServersOfItsOwn() async throws {
    let shown = await run("list", "--app", "a.b", "--environment", "sandbox")
    let host = "api-manage-broadcast.sandbox.push.apple.com:2195"
    #expect(shown.text.hasPrefix("GET https://\(host)/1/apps/a.b/all-channels\n"))
    let file = try directory.write(#"{"aps":{}}"#, to: "p.json")
    let sent = await run(
      "send", "--app", "a.b", "--environment", "sandbox", "--channel", Self.id, "--payload", file)
    let url = "https://api.sandbox.push.apple.com/4/broadcasts/apps/a.b"
    #expect(sent.text.hasPrefix("POST \(url)\n"), "\(sent.text)")
  }

  @Test func aBroadcastHasItsHeadersAndNoSuffix() async throws {
    let file = try directory.write(#"{"aps":{"event":"end"}}"#, to: "p.json")
    let shown = await run(
      "send", "--app", "a.b", "--channel", Self.id, "--payload", file, "--priority", "5")
    let head = """
      POST https://api.push.apple.com/4/broadcasts/apps/a.b
      apns-channel-id: \(Self.id)
      apns-push-type: liveactivity
      apns-priority: 5
      apns-expiration: 0

      """
    #expect(shown.text.hasPrefix(head), "\(shown.text)")
    #expect(shown.text.contains("\"event\": \"end\""))
    let stored = await run(
      "send", "--app", "a.b", "--channel", Self.id, "--payload", file, "--expires-in", "1h")
    #expect(!stored.text.contains("apns-expiration: 0\n"), "\(stored.text)")
  }

  @Test func aTemplateSaysItsPriority() async throws {
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
    let words = ["send", "--app", "a.b", "--channel", Self.id, "--template", "la"]
    let shown = await run(words)
    #expect(shown.text.contains("\napns-priority: 5\n"), "\(shown.text)")
    #expect(shown.text.contains("/apps/a.b\n") && shown.text.contains("Speedrun night"))
    let urgent = await run(words + ["--priority", "10"])
    #expect(urgent.text.contains("\napns-priority: 10\n"), "\(urgent.text)")
  }

  @Test(arguments: [
    (["list"], "--app must be"), (["list", "--app", "a b"], "--app must be"),
    (["show", "--app", "a.b"], "--channel"), (["show", "--app", "a.b", "--channel", "a b"], "id"),
    (["send", "--app", "a.b", "--channel", "c"], "either --payload or --template"),
    (
      ["send", "--app", "a.b", "--channel", "c", "--payload", "p", "--template", "t"],
      "either --payload or --template"
    ),
    (
      ["send", "--app", "a.b", "--channel", "c", "--payload", "p", "--locale", "ja"],
      "goes with --template"
    ),
    (["send", "--app", "a.b", "--channel", "c", "--template", "alert"], "liveactivity alone"),
  ])
  func refusesWhatMakesNoRequest(_ words: [String], _ complaint: String) async throws {
    _ = try directory.write("payload: { aps: { alert: hello } }\n", to: "alert.yaml")
    let ended = await run(words)
    #expect(ended.code == .usage && ended.text.contains(complaint), "\(ended.text)")
  }

  @Test(arguments: [
    ("[]", "10", "a JSON object, not an array"), ("{}", "10", "no aps"),
    (#"{"aps":{}}"#, "7", "10, 5 or 1"),
  ])
  func refusesAPayloadThatAppleWould(
    _ payload: String, _ priority: String, _ complaint: String
  ) async throws {
    let file = try directory.write(payload, to: "p.json")
    let ended = await run(
      "send", "--app", "a.b", "--channel", Self.id, "--payload", file, "--priority", priority)
    #expect(ended.code == .usage && ended.text.contains(complaint), "\(ended.text)")
  }

  private func run(_ words: String...) async -> VerbRun { await run(words) }

  private func run(_ words: [String]) async -> VerbRun {
    await VerbRun(
      ChannelVerb.verb,
      ["channel"] + words + ["--dry-run", "--set", "templates.directory=\(directory.path)"])
  }
}
