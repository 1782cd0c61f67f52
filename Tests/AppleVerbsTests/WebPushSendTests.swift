import JSON
import Processes
import Terminal
import Testing
import Text
import WebPushSimulator

@testable import AppleVerbs

/// `fanfare send --platform webpush`: what it makes of its flags, as `--dry-run` shows it, and what
/// a push service gets and answers, which the simulator is.
@Suite struct WebPushSendTests {
  private static let endpoint = "https://updates.push.services.mozilla.com/wpush/v2/gAAA:x"
  private static let p256dh =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
  private static let auth = "BTBZMqHH6r4Tts7J_aSIgg"
  private static let parts = ["--endpoint", endpoint, "--p256dh", p256dh, "--auth", auth]
  private static let now: Int64 = 1_795_248_000_000
  /// Of `vapid.key`; its public key is the one above.
  private static let privateKey = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94\n"

  private let directory: ScratchDirectory

  init() throws {
    directory = try ScratchDirectory()
    try directory.write(Self.privateKey, to: "vapid.key")
  }

  private func shown(_ words: [String]) async throws -> JSON.JSONObject {
    let ended = await run(words + ["--json", "--dry-run"])
    return try #require(
      try? JSONValue.parse(Array(ended.text.utf8)).object, "\(ended.text)")
  }

  @Test func textsBecomeANotification() async throws {
    let request = try await shown(
      Self.parts + [
        "--title", "Hi", "--body", "There", "--expires-in", "90s", "--urgency", "very-low",
        "--collapse-id", "live",
      ])
    #expect(request["url"]?.string == Self.endpoint && request["method"]?.string == "POST")
    #expect(request["payload"] == ["notification": ["title": "Hi", "body": "There"]])
    let headers = request["headers"]?.object
    #expect(headers?["ttl"]?.string == "90" && headers?["urgency"]?.string == "very-low")
    #expect(headers?["content-encoding"]?.string == "aes128gcm")
    #expect(headers?["topic"]?.string?.utf8.count == 32 && headers?["authorization"] == nil)
    // Filled up to 128 bytes, and what the encryption takes.
    #expect(request["bytes"] == 231)
  }

  @Test func theSubscriptionMayBeAFile() async throws {
    let file = try directory.write(
      """
      {"endpoint":"\(Self.endpoint)","expirationTime":null,
       "keys":{"p256dh":"\(Self.p256dh)","auth":"\(Self.auth)"}}
      """, to: "s.json")
    let request = try await shown(["--subscription", file, "--title", "Hi"])
    #expect(request["url"]?.string == Self.endpoint)
    #expect(request["headers"]?.object?["ttl"]?.string == "3600")
    let ended = await run(["--subscription", file, "--auth", Self.auth, "--title", "Hi"])
    #expect(ended.code == .usage && ended.text.contains("do not go together"), "\(ended.text)")
  }

  @Test func aTemplateSaysWhatAWorkerWouldSend() async throws {
    try directory.write(
      """
      payload: { aps: { alert: { title: "live!" } } }
      webpush: { urgency: low, navigate: "https://example.com/" }
      """, to: "t.yaml")
    let request = try await shown(Self.parts + ["--app", "a.b", "--template", "t"])
    #expect(request["payload"]?.object?["web_push"] == 8030)
    #expect(request["headers"]?.object?["urgency"]?.string == "low")
  }

  @Test(arguments: [
    (["--title", "x"], ExitCode.usage, "needs --subscription, or --endpoint"),
    (parts, .usage, "nothing to say"),
    (parts + ["--body", "x"], .usage, "give --title"),
    (parts + ["--title", "x", "--validate-only"], .usage, "push services have no such way"),
    (parts + ["--title", "x", "--token", "aa"], .usage, "a browser has no token"),
    (parts + ["--title", "x", "--badge", "1"], .usage, "--badge is Apple's"),
    (parts + ["--title", "x", "--vapid-key", "other"], .usage, "no VAPID key pair"),
    (parts + ["--title", String(repeating: "x", count: 4_000)], .usage, "at most 3993 fit"),
    (
      ["--endpoint", "https://10.0.0.1/x"] + parts[2...] + ["--title", "x"], .usage,
      "not an address"
    ),
    (parts + ["--title", "x", "--set", "webpush.vapid_key_file="], .config, "no VAPID key pair"),
    (parts + ["--title", "x", "--platform", "fcm"], .usage, "goes with --platform webpush"),
  ])
  func saysWhatIsWrong(words: [String], code: ExitCode, complaint: String) async {
    let ended = await run(words + ["--dry-run"])
    #expect(ended.code == code && ended.text.contains(complaint), "\(ended.text)")
  }

  // MARK: with a push service

  @Test(arguments: [
    ("updates.push.services.mozilla.com", nil, ExitCode.ok, "201"),
    ("web.push.apple.com", MagicFault(.gone), .failed, "the subscription has ended"),
    ("http1.push.test", nil, .unavailable, "this command needs HTTP/2"),
  ])
  func theAnswerIsExplained(
    host: String, fault: MagicFault?, code: ExitCode, words: String
  ) async throws {
    var options = WebPushSimulatorOptions(directory: directory.file("webpush"))
    options.clock = { Self.now * 1_000 }
    let simulator = WebPushSimulator(options: options, log: { _ in })
    let address = try await simulator.start()
    let key: [UInt8] = try #require(Base64URL.decode(Self.p256dh.utf8))
    let made = try await simulator.makeSubscription(host: host, applicationServerKey: key, fault)
    let ended = await run(
      [
        "--endpoint", made.endpoint, "--p256dh", Base64URL.encode(made.publicKey), "--auth",
        Base64URL.encode(made.secret), "--title", "Hi",
      ]
        + [
          "webpush.connect_to=\(address.host):\(address.port)",
          "webpush.ca_file=\(address.authorityFile)", "webpush.hosts=browsers,push.test",
        ].flatMap { ["--set", $0] })
    #expect(ended.code == code && ended.text.contains(words), "\(ended.text)")
    let message = await simulator.lastMessage(of: made.endpoint)
    if code == .ok {
      #expect(
        message.map { String(decoding: $0, as: UTF8.self) }?.contains(#""title":"Hi""#) == true)
    }
    _ = await simulator.stop()
  }

  private func run(_ words: [String]) async -> VerbRun {
    let platform = words.contains("--platform") ? [] : ["--platform", "webpush"]
    let settings = [
      "templates.directory=\(directory.path)", "webpush.subject=mailto:push@example.com",
      "webpush.vapid_key_file=\(directory.file("vapid.key"))",
    ]
    return await VerbRun(
      SendVerb.verb, ["send"] + platform + settings.flatMap { ["--set", $0] } + words,
      now: Self.now)
  }
}
