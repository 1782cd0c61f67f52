import JSON
import Processes
import Terminal
import Testing

@testable import AppleVerbs

/// What `fanfare send --platform fcm` makes of its flags, as `--dry-run` shows it.
@Suite struct FCMSendTests {
  private static let url = "https://fcm.googleapis.com/v1/projects/p-1/messages:send"
  private let directory: ScratchDirectory

  init() throws { directory = try ScratchDirectory() }

  private func message(_ words: String...) async throws -> JSON.JSONObject {
    let ended = await run(words + ["--token", "a:b", "--json"])
    let value = try JSONValue.parse(Array(ended.text.utf8)).object
    #expect(value?["url"]?.string == Self.url)
    return try #require(value?["payload"]?.object, "\(ended.text)")
  }

  @Test func textsBecomeANotification() async throws {
    let request = try await message("--title", "Hi", "--body", "There", "--expires-in", "1m")
    let message = request["message"]?.object
    #expect(message?["token"]?.string == "a:b" && request["validateOnly"] == nil)
    #expect(message?["notification"] == ["title": "Hi", "body": "There"])
    #expect(message?["android"] == ["ttl": "60s"])
  }

  /// A person who only asks whether a token is good has nothing to say.
  @Test func aCheckNeedsNoText() async throws {
    let request = try await message("--validate-only")
    #expect(request["validateOnly"]?.bool == true)
    #expect(request["message"]?.object?["data"] == ["check": "1"])
  }

  @Test func aTemplateSaysWhatAWorkerWouldSend() async throws {
    try directory.write(
      """
      default_locale: en
      payload: { aps: { alert: { title: "{{text.title}}" } }, n: 7 }
      locales: { en: { title: "live!" }, ja: { title: "ライブ" } }
      """, to: "t.yaml")
    let request = try await message("--app", "a.b", "--template", "t", "--locale", "ja")
    let message = request["message"]?.object
    #expect(message?["notification"] == ["title": "ライブ"])
    #expect(message?["data"] == ["n": "7"])
    #expect(message?["android"]?.object?["priority"]?.string == "HIGH")
    #expect(message?["android"]?.object?["ttl"]?.string?.hasSuffix("s") == true)
  }

  @Test func aFileIsTheWholeMessage() async throws {
    let file = try directory.write(#"{"data":{"a":"b"}}"#, to: "m.json")
    let request = try await message("--payload", file)
    #expect(request["message"]?.object?["data"] == ["a": "b"])
  }

  @Test func anAppHasItsProject() async {
    let other = ["fcm.apps.a.b.token_file=/none", "fcm.apps.a.b.project=p-2"]
    let words = ["--token", "a", "--title", "x"] + other.flatMap { ["--set", $0] }
    let shown = await run(words + ["--app", "a.b"])
    #expect(shown.text.contains("/v1/projects/p-2/messages:send"), "\(shown.text)")
    for app in [[], ["--app", "c.d"]] {
      let shown = await run(words + app)
      #expect(shown.text.contains("/v1/projects/p-1/messages:send"), "\(shown.text)")
    }
  }

  @Test(arguments: [
    (["--token", "a"], ExitCode.usage, "nothing to say"),
    (["--token", "a", "--title", "x", "--badge", "1"], .usage, "--badge is Apple's"),
    (["--token", "a", "--title", "x", "--payload", "f"], .usage, "do not go together"),
    (["--token", "a b", "--title", "x"], .usage, "visible ASCII"),
    (["--token", "a", "--title", "x", "--locale", "ja"], .usage, "goes with --template"),
    (
      ["--token", "a", "--title", "x", "--set", "fcm.token_file="], .config,
      "no credentials for Firebase"
    ),
  ])
  func saysWhatIsWrong(words: [String], code: ExitCode, complaint: String) async {
    let ended = await run(words)
    #expect(ended.code == code && ended.text.contains(complaint), "\(ended.text)")
  }

  @Test func appleChecksNothingWithoutDelivering() async {
    let ended = await run(["--token", "aabb", "--validate-only", "--platform", "apns"])
    #expect(ended.code == .usage && ended.text.contains("Apple has no such way"), "\(ended.text)")
  }

  private func run(_ words: [String]) async -> VerbRun {
    let platform = words.contains("--platform") ? [] : ["--platform", "fcm"]
    let settings = [
      "templates.directory=\(directory.path)", "fcm.token_file=/none", "fcm.project=p-1",
    ]
    return await VerbRun(
      SendVerb.verb,
      ["send"] + platform + settings.flatMap { ["--set", $0] } + words + ["--dry-run"])
  }
}
