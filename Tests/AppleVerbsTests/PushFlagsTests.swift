import JSON
import Model
import Processes
import PushSupport
import Render
import SingleRequests
import Terminal
import Testing
import Threads
import VerbSupport

@testable import AppleVerbs

/// What the flags of `fanfare send` make of a push.
@Suite struct PushFlagsTests {
  /// 2026-01-01T00:00:00Z.
  private static let now: Int64 = 1_767_225_600_000
  private let directory: ScratchDirectory

  init() throws { directory = try ScratchDirectory() }

  @Test func eachFlagHasItsPlace() async throws {
    let push = try await push(
      "--token", "<AABB>", "--app", "com.example.live", "--title", "T", "--subtitle", "S",
      "--body", "B", "--badge", "3", "--sound", "default", "--priority", "1", "--collapse-id",
      "c1", "--expires-in", "0s")
    #expect(push.token == "aabb")
    let headers = push.headers
    #expect(headers.topic == "com.example.live" && headers.pushType == .alert)
    #expect(headers.priority == 1 && headers.collapseID == "c1" && headers.expiration == 0)
    let wanted =
      #"{"aps":{"alert":{"title":"T","subtitle":"S","body":"B"},"badge":3,"#
      + #""sound":"default"}}"#
    #expect(try json(push.payload) == json(wanted))
  }

  @Test func anAlertHasPriorityTenAndAnHour() async throws {
    let push = try await push("--token", "aabb", "--app", "a.b", "--body", "x")
    #expect(push.headers.priority == 10 && push.headers.collapseID == nil)
    #expect(push.headers.expiration == Self.now / 1_000 + 3_600)
  }

  /// As templates have them: what Apple asks of the type.
  @Test(arguments: [
    (PushType.background, 5, true), (.liveactivity, 10, true), (.pushtotalk, 10, false),
    (.voip, 10, false),
  ])
  func aPushTypeBringsItsHeaders(_ type: PushType, _ priority: Int, _ isStored: Bool) async throws {
    let file = try directory.write(#"{"aps":{}}"#, to: "p.json")
    let push = try await push(
      "--token", "aabb", "--app", "a.b", "--payload", file, "--push-type", type.rawValue)
    #expect(push.payload == #"{"aps":{}}"#)
    #expect(push.headers.topic == "a.b" + type.topicSuffix)
    #expect(push.headers.priority == priority && (push.headers.expiration > 0) == isStored)
  }

  /// A device passes over what is wrong in `aps`, and Apple says nothing of it.
  @Test func whatADeviceWouldPassOverIsSaid() async throws {
    let file = try directory.write(#"{"aps":{"alert":"x","badge":"3"}}"#, to: "p.json")
    let push = try await push("--token", "aabb", "--app", "a.b", "--payload", file)
    let complaints = PayloadRules.complaints(about: push.payload, of: push.headers)
    #expect(complaints.count == 1 && complaints[0].contains("badge"), "\(complaints)")
    var headers = push.headers
    headers = PushHeaders(
      pushType: .background, priority: 10, topic: headers.topic, collapseID: nil, expiration: 0,
      expiresAt: .max)
    let rules = PayloadRules.complaints(about: push.payload, of: headers)
    #expect(rules.contains { $0.contains("priority") }, "\(rules)")
    #expect(PayloadRules.complaints(about: #"{"aps":{"alert":"x"}}"#, of: push.headers) == [])
    // Of a payload nothing is put in the place of that.
    let raw = #"{"aps":{"alert":"x","badge":"{{number data.x}}"}}"#
    #expect(PayloadRules.complaints(about: raw, of: push.headers).count == 1)
  }

  @Test func aBackgroundPushNeedsNoPayload() async throws {
    let push = try await push("--token", "aabb", "--app", "a.b", "--push-type", "background")
    #expect(push.payload == #"{"aps":{"content-available":1}}"#)
  }

  @Test func aTemplateSaysItsHeadersAndFlagsWinOverThem() async throws {
    let words = try ["--token", "aabb", "--template", template(), "--field", "name=Aiko"]
    let push = try await push(words + ["--app", "com.example.live", "--locale", "ja"])
    #expect(push.payload.contains("ライブ") && push.payload.contains("Aiko"))
    #expect(push.headers.topic == "com.example.live" && push.headers.priority == 5)
    let other = try await self.push(words + ["--app", "a.b", "--priority", "10"])
    #expect(other.payload.contains("live!") && other.headers.priority == 10)
  }

  @Test func anEventNamesTheAppAndHowLongItIsWorth() async throws {
    func event(_ occurredAt: String) throws -> String {
      try directory.write(
        #"{"id":"a1","app":"com.example.other","streamer":{"id":"s1"},"stream":{"id":"b1"},"#
          + #""occurred_at":"\#(occurredAt)","expires_in":60}"#, to: "event.json")
    }
    let words = try ["--token", "aabb", "--template", template(), "--event"]
    let push = try await push(words + [event("2026-01-01T00:00:00Z")])
    #expect(push.headers.topic == "com.example.other")
    #expect(push.headers.expiration == Self.now / 1_000 + 60)
    let old = await run(words + [try event("2025-12-31T00:00:00Z")])
    #expect(old.code == .failed && old.errors.contains("expired"), "\(old.errors)")
    let both = await run(words + [try event("2026-01-01T00:00:00Z"), "--app", "a.b"])
    #expect(both.code == .usage && both.errors.contains("--event"), "\(both.errors)")
  }

  @Test(arguments: [
    (["--token", "xyz", "--app", "a.b", "--title", "x"], "hex digits"),
    (["--token", "aa", "--title", "x"], "--app is needed"),
    (["--token", "aa", "--template", "t"], "--app is needed"),
    (["--token", "aa", "--app", "a.b"], "nothing to say"),
    (["--token", "aa", "--app", "a b", "--title", "x"], "bundle id"),
    (["--token", "aa", "--app", "a.b", "--title", "x", "--payload", "p.json"], "go together"),
    (["--token", "aa", "--app", "a.b", "--title", "x", "--template", "t"], "go together"),
    (["--token", "aa", "--app", "a.b", "--title", "x", "--locale", "ja"], "goes with --template"),
    (["--token", "aa", "--app", "a.b", "--title", "x", "--push-type", "voip"], "--payload or"),
    (["--token", "aa", "--app", "a.b", "--title", "x", "--priority", "7"], "10, 5 or 1"),
    (
      ["--token", "aa", "--app", "a.b", "--push-type", "background", "--priority", "10"],
      "Apple would refuse it"
    ),
    (["--token", "aa", "--app", "a.b", "--title", "x", "--collapse-id", "a\r\nb"], "control"),
  ])
  func refusesWhatMakesNoPush(_ words: [String], _ complaint: String) async throws {
    _ = try template()
    let ended = await run(words)
    #expect(ended.code == .usage && ended.errors.contains(complaint), "\(ended.errors)")
  }

  @Test(arguments: [
    ("{\n  \"aps\": {\"badge\": 1,}\n}", "no JSON: line 2, column"), ("[1]", "not an array"),
    ("", "no JSON: line 1"), (#"{"alert":"x"}"#, #"its members are "alert""#),
    (#"{"aps":{},"aps":{}}"#, "line 1, column"),
  ])
  func saysWhatIsWrongWithAPayloadAndWhere(_ text: String, _ complaint: String) async throws {
    let file = try directory.write(text, to: "p.json")
    let ended = await run(["--token", "aa", "--app", "a.b", "--payload", file])
    #expect(ended.code == .usage && ended.errors.contains(complaint), "\(ended.errors)")
  }

  /// Apple takes any number, and gets it as it was written.
  @Test func numbersGoOutAsTheyWereWritten() async throws {
    let text = #"{"aps":{"badge":1},"id":12345678901234567890,"x":1.0,"y":9007199254740993}"#
    let file = try directory.write(text, to: "p.json")
    let push = try await push("--token", "aa", "--app", "a.b", "--payload", file)
    #expect(push.payload == text)
    #expect(push.request.body == text)
    let other = directory.file("q.json")
    _ = try ChildProcess.run(["bash", "-c", "printf '{\\377}' > \(other)"])
    let bad = await run(["--token", "aa", "--app", "a.b", "--payload", other])
    #expect(bad.errors.contains("is not UTF-8"), "\(bad.errors)")
  }

  // MARK: helpers

  private func template() throws -> String {
    try directory.write(
      """
      priority: 5
      default_locale: en
      payload: { aps: { alert: { title: "{{text.title}} {{recipient.name|you}}" } } }
      locales: { en: { title: "live!" }, ja: { title: "ライブ" } }
      """, to: "t.yaml")
    return "t"
  }

  private func json(_ text: String) throws -> JSONValue { try JSONValue.parse(Array(text.utf8)) }

  private func push(_ words: String...) async throws -> SinglePush { try await push(words) }

  private func push(_ words: [String]) async throws -> SinglePush {
    let ended = await run(words)
    return try #require(ended.push, "\(ended.errors)")
  }

  private struct Ended {
    let code: ExitCode
    let push: SinglePush?
    let errors: String
  }

  private func run(_ words: [String]) async -> Ended {
    let made = ThreadLock<SinglePush?>(nil)
    let said = ThreadLock("")
    let verb = Verb(
      "send", summary: "Only reads its flags", options: PushFlags.all + ConfigurationOptions.all
    ) { (invocation) async throws(CommandFailure) -> ExitCode in
      let apple = CommandApple(try invocation.loadSettings())
      let push = try PushFlags.push(invocation, apple, now: Self.now)
      made.withLock { $0 = push }
      return .ok
    }
    let program = Program(name: "fanfare", summary: "Flags", version: "0", verbs: [verb])
    let silent = Console(capabilities: .plain, width: { nil }, write: { _ in true })
    let errors = Console(capabilities: .plain, width: { nil }) { bytes in
      said.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
      return true
    }
    let code = await program.execute(
      ["send", "--set", "templates.directory=\(directory.path)"] + words,
      clock: CommandClock(wallMilliseconds: { 1_795_248_000_000 }, monotonicNanoseconds: { 0 }),
      output: silent, errors: errors)
    return Ended(code: code, push: made.withLock { $0 }, errors: said.withLock { $0 })
  }
}
