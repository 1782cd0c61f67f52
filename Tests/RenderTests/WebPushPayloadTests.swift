import Model
import Testing

@testable import Render

@Suite struct WebPushPayloadTests {
  private static func shown(
    _ yaml: String = Samples.template, _ fields: [String: String] = [:],
    event: Event = Samples.event()
  ) throws -> RenderPreview.Message? {
    try Samples.prepare(yaml, event).preview(recipient: fields).messages
      .first { $0.platform == .webpush }
  }

  private static func message(
    _ yaml: String = Samples.template, _ fields: [String: String] = [:],
    event: Event = Samples.event()
  ) throws -> String? {
    try shown(yaml, fields, event: event)?.payload
  }

  private static let alert = "payload:\n  aps:\n    alert: a\n    sound: b\n"

  // MARK: made of Apple's payload

  @Test func aTemplateForAppleReachesServiceWorkers() throws {
    let message = try Self.message(
      Samples.template, ["locale": "zh-TW", "name": "小明", "badge": "3"])
    #expect(
      message == #"{"notification":{"title":"Aiko開播了","body":"小明，Speedrun night","#
        + #""lang":"zh-Hant","dir":"ltr","data":{"stream":"b-991"},"tag":"live-s42"},"#
        + #""app_badge":3}"#)
  }

  @Test func aURLMakesItDeclarative() throws {
    let message = try Self.message(
      Self.alert + "webpush:\n  navigate: \"https://a.b/{{stream.id}}\"")
    #expect(
      message == #"{"web_push":8030,"notification":{"title":"a","#
        + #""navigate":"https://a.b/b-991"}}"#)
  }

  @Test(arguments: [
    ("alert: x\nwebpush:\n  title: y", #"{"title":"y","body":"x","silent":true}"#),
    ("alert: x\nwebpush:\n  body: y", #"{"title":"x","body":"y","silent":true}"#),
    ("badge: 1\nwebpush:\n  body: y", #"{"title":"y","silent":true},"app_badge":1"#),
    ("alert: x", #"{"title":"x","silent":true}"#),
    ("alert:\n      body: x", #"{"title":"x","silent":true}"#),
    ("alert:\n      title: t\n      body: x", #"{"title":"t","body":"x","silent":true}"#),
    ("alert: x\n    sound: default", #"{"title":"x"}"#),
  ])
  func aBrowserAlwaysGetsATitle(_ aps: String, _ notification: String) throws {
    let message = try Self.message("payload:\n  aps:\n    \(aps)")
    #expect(message == #"{"notification":\#(notification)}"#)
  }

  @Test func theAppsKeysKeepTheirTypes() throws {
    let custom = "  n: 7\n  deep:\n    list:\n      - 1\n      - \"two\"\n"
    let viewers = "  viewers: \"{{number data.viewers|5}}\"\n  no: null\n"
    let message = try #require(try Self.message(Self.alert + custom + viewers))
    #expect(
      message.hasSuffix(#""data":{"n":7,"deep":{"list":[1,"two"]},"no":null,"viewers":5}}}"#),
      "\(message)")
  }

  @Test(arguments: [
    ("en", #""lang":"en","dir":"ltr""#), ("ar-EG", #""lang":"ar-EG","dir":"rtl""#),
    ("pt_BR", #""lang":"pt-BR","dir":"ltr""#), ("az-Arab", #""lang":"az-Arab","dir":"rtl""#),
    ("iw", #""lang":"he","dir":"rtl""#), ("es-419", #""lang":"es-419","dir":"ltr""#),
  ])
  func theLocaleIsTold(_ locale: String, _ members: String) throws {
    let message = try Self.message(
      "payload:\n  aps:\n    alert: \"{{text.a}}\"\nlocales:\n  \(locale):\n    a: b")
    #expect(message?.contains(members) == true, "\(message ?? "")")
  }

  @Test(arguments: ["voip", "background", "liveactivity", "location"])
  func otherPushesAreNoneForBrowsers(_ type: String) throws {
    let aps = type == "background" ? "content-available: 1" : "relevance-score: 0"
    let live = "    event: update\n    timestamp: 1\n    content-state:\n      a: b\n"
    let prepared = try Samples.prepare(
      "push_type: \(type)\npayload:\n  aps:\n    \(aps)\n\(type == "liveactivity" ? live : "")")
    #expect(prepared.payloadOf[Int(Destination.webpush.index)] == PreparedEvent.nothing)
    #expect(try prepared.preview(recipient: [:]).messages.allSatisfy { $0.platform != .webpush })
  }

  /// The browser would say something of its own.
  @Test(arguments: ["badge: 3", "alert:\n      title-loc-key: K", "alert:\n      subtitle: s"])
  func aPushWithoutTextIsNoneForBrowsers(_ aps: String) throws {
    let prepared = try Samples.prepare("payload:\n  aps:\n    \(aps)")
    #expect(prepared.payloadOf[Int(Destination.webpush.index)] == PreparedEvent.nothing)
    let problems = Samples.problems("webpush:\n  silent: true\npayload:\n  aps:\n    \(aps)")
    #expect(problems.count == 1 && problems[0].contains("add webpush.title"), "\(problems)")
  }

  // MARK: the section

  @Test func theSectionReplacesWhatIsMadeOfApples() throws {
    let yaml =
      Samples.template + """

        webpush:
          title: "{{text.title}}!"
          body: "{{recipient.badge}}"
          navigate: "https://a.b/{{streamer.id}}"
          icon: "{{data.icon}}"
          image: "{{data.image|https://a.b/i.png}}"
          badge: "https://a.b/badge.png"
          actions:
            - action: follow
              title: "{{streamer.name}}"
              navigate: "https://a.b/follow"
          tag: one
          require_interaction: true
          silent: "{{boolean data.silent}}"
          renotify: true
          data:
            n: 1
          urgency: very-low
        """
    let icon = Samples.event(fields: ["streamer.id": "s1", "data.icon": "https://a.b/1.png"])
    let prepared = try Samples.prepare(yaml, icon)
    #expect(prepared.headers.urgency == .veryLow)
    let json = try StrictJSON(
      #require(
        try prepared.preview(recipient: ["badge": "4"]).messages.first { $0.platform == .webpush }
      ).payload)
    #expect(json["web_push"]?.integer == 8030)
    #expect(json.text("notification.title") == " is live!")
    #expect(json.text("notification.body") == "4")
    #expect(json.text("notification.navigate") == "https://a.b/s1")
    #expect(json.text("notification.icon") == "https://a.b/1.png")
    #expect(json.text("notification.image") == "https://a.b/i.png")
    #expect(json.text("notification.badge") == "https://a.b/badge.png")
    #expect(json.text("notification.tag") == "one")
    #expect(json["notification.require_interaction"]?.bool == true)
    #expect(json["notification.renotify"]?.bool == true)
    #expect(json["notification.silent"] == nil)
    #expect(json["notification.data.n"]?.integer == 1)
    let action = json["notification.actions"]?.array?.first?.object
    #expect(action?["action"]?.string == "follow" && action?["title"]?.string == "")
    #expect(action?["navigate"]?.string == "https://a.b/follow")
  }

  /// Safari passes over a message with an icon that is no URL.
  @Test(arguments: [
    ("https://a.b/c?d=e#f", true), ("", false), ("http://a.b", false), ("javascript:x", false),
    ("https://", false), ("https://a.b/\"", false), ("https://a.b/\\", false),
    ("https://a.b/ c", false), ("https://a.b/é", false),
  ])
  func aURLThatIsNoneIsLeftOut(_ url: String, isThere: Bool) throws {
    let yaml =
      Self.alert + "webpush:\n  icon: \"{{data.icon}}\"\n  image: \"{{recipient.image}}\""
    let event = Samples.event(fields: ["streamer.id": "s1", "data.icon": url])
    let message = try #require(try Self.message(yaml, ["image": url], event: event))
    let json = try StrictJSON(message)
    for key in ["icon", "image"] {
      #expect(json.text("notification.\(key)") == (isThere ? url : nil), "\(message)")
    }
  }

  @Test(arguments: [
    (10, "", PushUrgency.high), (5, "", .normal), (1, "", .low),
    (1, "webpush:\n  urgency: high", .high), (10, "webpush:\n  urgency: low", .low),
  ])
  func theUrgencyIsThePrioritysUnlessTheSectionSaysOne(
    _ priority: Int, _ section: String, _ urgency: PushUrgency
  ) throws {
    let prepared = try Samples.prepare("priority: \(priority)\n\(Self.alert)\(section)")
    #expect(prepared.headers.urgency == urgency && prepared.headers.priority == priority)
  }

  @Test(arguments: [
    ("webpush: 1", "webpush must be a map"),
    ("webpush:\n  link: x", "unknown key 'link'"),
    ("webpush:\n  title: 7", "webpush.title must be a text"),
    ("webpush:\n  title: \"{{text.nowhere}}\"", "there is no text 'nowhere'"),
    ("webpush:\n  navigate: /live", "webpush.navigate must be a URL that begins with https://"),
    ("webpush:\n  icon: \"http://a.b\"", "webpush.icon must be a URL"),
    ("webpush:\n  navigate: \"{{data.url|/x}}\"", "must be a URL that begins with https:// too"),
    ("webpush:\n  urgency: 10", "urgency must be one of very-low, low, normal, high"),
    ("webpush:\n  silent: 1", "webpush.silent must be true or false"),
    ("webpush:\n  renotify: \"{{data.x}}\"", "webpush.renotify must be true or false"),
    ("webpush:\n  renotify: true", "webpush.renotify needs a tag"),
    ("webpush:\n  data: text", "webpush.data must be a map"),
    ("webpush:\n  actions: text", "webpush.actions must be a list"),
    ("webpush:\n  actions:\n    - text", "webpush.actions has maps"),
    ("push_type: voip\nwebpush: {}", "browsers get nothing of pushes of type voip"),
    ("push_type: background\nwebpush:\n  title: x", "browsers get nothing of pushes of type back"),
  ])
  func aMistakeInTheSectionIsNamed(_ section: String, _ words: String) {
    let problems = Samples.problems(section + "\npayload:\n  aps:\n    alert: a")
    #expect(problems.contains { $0.contains(words) }, "\(problems)")
  }

  @Test(
    arguments: [
      ("action: a\n      title: b", false, nil),
      ("action: a\n      title: b", true, "'navigate' is missing"),
      ("action: a\n      title: b\n      navigate: \"https://a.b\"", true, nil),
      ("action: a", false, "'title' is missing"),
      ("title: a", false, "'action' is missing"),
      ("action: a\n      title: b\n      url: c", false, "unknown key 'url'"),
      ("action: a\n      title: b\n      icon: c", false, "webpush.actions.icon must be a URL"),
    ] as [(String, Bool, String?)])
  func anActionHasWhatBrowsersAskOfIt(
    _ action: String, isDeclarative: Bool, _ words: String?
  ) {
    let navigate = isDeclarative ? "  navigate: \"https://a.b\"\n" : ""
    let problems = Samples.problems(Self.alert + "webpush:\n\(navigate)  actions:\n    - \(action)")
    #expect(problems.count == (words == nil ? 0 : 1), "\(problems)")
    #expect(problems.allSatisfy { $0.contains(words ?? "") }, "\(problems)")
  }

  @Test(arguments: [
    "collapse_id: c\nwebpush:\n  renotify: true", "webpush:\n  renotify: true\n  tag: t",
    "webpush:\n  renotify: false",
  ])
  func aNotificationMayAlertAgainWhereItReplacesOne(_ head: String) throws {
    let message = try #require(try Self.message(head + "\n" + Self.alert))
    #expect(message.contains(#""renotify":\#(!head.contains("false"))"#), "\(message)")
  }

  @Test func aSectionWithoutAURLIsWarnedOf() throws {
    let words = "only a service worker shows the message"
    func warnings(_ section: String) throws -> [String] {
      try Samples.compile(Self.alert + section).warnings.map(\.message)
    }
    #expect(try warnings("").isEmpty)
    #expect(try warnings("webpush:\n  tag: x").count { $0.contains(words) } == 1)
    #expect(try warnings("webpush:\n  navigate: \"https://a.b\"").isEmpty)
    #expect(try Self.shown(Self.alert)?.notes.count { $0.contains(words) } == 1)
    let navigate = try Self.shown(Self.alert + "webpush:\n  navigate: \"https://a.b\"")
    #expect(navigate?.notes.isEmpty == true)
  }

  // MARK: length

  private static func template(bodyBytes: Int, _ section: String = "") -> String {
    "payload:\n  aps:\n    sound: x\n    alert:\n      title: t\n      body: \""
      + String(repeating: "b", count: bodyBytes) + "\"\n" + section
  }

  @Test func aMessageMayHaveWhatABodyLeavesToIt() throws {
    let empty = #"{"notification":{"title":"t","body":""}}"#.utf8.count
    let longest = try #require(try Self.shown(Self.template(bodyBytes: 3_993 - empty)))
    #expect(longest.byteCount == 3_993 && longest.limit == 3_993)
    #expect(longest.notes.count { $0.contains("Firefox for Android") } == 1)
    let safe = try #require(try Self.shown(Self.template(bodyBytes: 2_800 - empty)))
    #expect(!safe.notes.contains { $0.contains("Firefox for Android") })
  }

  /// Who sends to apps alone has made no mistake.
  @Test func aMessageThatIsAlwaysTooLongIsAProblemOfASectionAlone() throws {
    let yaml = Self.template(bodyBytes: 3_990)
    let template = try Samples.compile(yaml)
    #expect(template.warnings.map(\.message).count { $0.contains("without any value") } == 1)
    let preview = try RenderStage(templates: [template]).prepare(Samples.event())
      .preview(recipient: [:])
    #expect(preview.messages.map(\.platform) == [.apns, .fcm])
    #expect(preview.oversized.map(\.platform) == [.webpush])
    #expect(preview.oversized.first?.problem.contains("over the push service's 3993 bytes") == true)
    let section = "webpush:\n  navigate: \"https://a.b\""
    let problems = Samples.problems(Self.template(bodyBytes: 3_990, section))
    #expect(problems.count == 1 && problems[0].contains("the push service takes 3993"))
    let warnings = try Samples.compile(Self.template(bodyBytes: 3_000, section)).warnings
    #expect(warnings.map(\.message).count { $0.contains("Firefox for Android") } == 1)
  }

  @Test func theTextIsCutForEachPlatformOnItsOwn() throws {
    let section = "\nwebpush:\n  navigate: \"https://a.b\"\n"
    let preview = try Samples.prepare(Samples.template + section).preview(
      recipient: ["name": String(repeating: "n", count: 5_000)])
    #expect(preview.messages.map(\.byteCount) == [4_096, 4_096, 3_993])
    #expect(preview.messages.allSatisfy { $0.isShortened })
    let json = try StrictJSON(preview.messages[2].payload)
    #expect(json.text("notification.body")?.hasSuffix("n…") == true)
  }

  /// The section's body is cut, and not the text of Apple's that the app gets too.
  @Test func oneTextOfAMessageIsCut() throws {
    let yaml = """
      shorten: text
      payload:
        aps:
          alert: a
        text: "t {{data.t}}"
      webpush:
        body: "b {{recipient.b}}"
      fcm:
        notification:
          body: "f {{recipient.b}}"
      """
    let messages = try Samples.prepare(yaml).preview(
      recipient: ["b": String(repeating: "n", count: 5_000)]
    ).messages
    #expect(messages.map(\.isShortened) == [false, true, true])
    let android = try StrictJSON(messages[1].payload)
    #expect(android.text("notification.body")?.hasPrefix("f nn") == true)
    #expect(android.text("notification.body")?.hasSuffix("n…") == true)
    #expect(android.text("data.text") == "t ")
    let browser = try StrictJSON(messages[2].payload)
    #expect(browser.text("notification.body")?.hasPrefix("b nn") == true)
    #expect(browser.text("notification.body")?.hasSuffix("n…") == true)
    #expect(browser.text("notification.data.text") == "t ")
  }

  // MARK: pages

  @Test func eachDeviceGetsItsPlatformsPayload() throws {
    let prepared = try Samples.prepare()
    let kinds: [Destination] = [.webpush, .production, .fcm, .webpush, .sandbox]
    let page = Samples.page(
      [.init(user: "u", fields: ["name": Array("Mia".utf8)], devices: kinds.count)],
      fieldNames: prepared.fieldNames)
    for index in kinds.indices { page.bindings[index].destination = kinds[index] }
    let tally = SegmentTally()
    let rendering = PageRendering(page, prepared, tally: tally, maximumPushes: 8)
    let batch = try #require(rendering.next())
    #expect(batch.entries.map(\.destination) == kinds && tally.pushes == 5)
    let texts = batch.entries.map { batch.bytes.string($0.payload) }
    #expect(texts[0] == texts[3] && texts[0].hasPrefix(#"{"notification""#))
    #expect(texts[1] == texts[4] && texts[1].hasPrefix(#"{"aps""#))
    #expect(texts[2].hasPrefix(#","priority""#))
    #expect(texts.allSatisfy { $0.contains("Hi Mia") })
  }
}
