import Model
import Testing

@testable import Render

@Suite struct FCMPayloadTests {
  private static func message(
    _ yaml: String = Samples.template, _ fields: [String: String] = [:]
  ) throws -> String? {
    try Samples.prepare(yaml).preview(recipient: fields).messages
      .first { $0.platform == .fcm }?.payload
  }

  @Test func aTemplateForAppleReachesAndroidWithoutAFurtherWord() throws {
    #expect(
      try Self.message(Samples.template, ["locale": "zh-TW", "name": "小明", "badge": "3"])
        == #"{"android":{"priority":"HIGH","notification":{"sound":"default","tag":"live-s42"}},"#
        + #""notification":{"title":"Aiko開播了","body":"小明，Speedrun night"},"#
        + #""data":{"stream":"b-991"}}"#)
  }

  @Test func anAlertThatIsATextIsTheBody() throws {
    let message = try #require(
      try Self.message("payload:\n  aps:\n    alert: \"Hi {{recipient.name|there}}\""))
    #expect(
      message == #"{"android":{"priority":"HIGH","notification":{"sound":"default"}},"#
        + #""notification":{"body":"Hi there"}}"#)
  }

  /// FCM refuses any other than texts there.
  @Test func dataHasTextsOnly() throws {
    let message = try #require(
      try Self.message(
        """
        payload:
          aps:
            alert: a
          n: 7
          b: true
          gone: null
          deep:
            er:
              est: x
            list:
              - 1
              - "two"
          viewers: "{{number data.viewers|5}}"
          badge: "{{recipient.badge}}"
        """, ["badge": "12"]))
    let json = try StrictJSON(message)
    let data = try #require(json["data"]?.object)
    #expect(
      data.members.map { "\($0.name)=\($0.value.string ?? "?")" } == [
        "n=7", "b=true", "deep.er.est=x", "deep.list.0=1", "deep.list.1=two", "viewers=5",
        "badge=12",
      ])
  }

  @Test func aBackgroundPushIsDataAlone() throws {
    let message = try Self.message(
      "push_type: background\npriority: 5\npayload:\n  aps:\n    content-available: 1\n  id: x")
    #expect(message == #"{"android":{"priority":"NORMAL"},"data":{"id":"x"}}"#)
  }

  @Test func theSectionReplacesWhatIsMadeOfApples() throws {
    let message = try #require(
      try Self.message(
        Samples.template + """

          fcm:
            priority: normal
            notification:
              title: "{{text.title}}!"
              image: "https://a.b/{{streamer.id}}.png"
            android_notification:
              channel_id: live
              tag: one
            data:
              go: "{{stream.id}}"
          """))
    #expect(
      message
        == #"{"android":{"priority":"NORMAL","notification":{"channel_id":"live","tag":"one"}}"#
        + #","notification":{"title":"Aiko is live!","image":"https://a.b/s42.png"},"#
        + #""data":{"go":"b-991"}}"#)
  }

  @Test(arguments: [
    ("fcm: 1", "fcm must be a map"),
    ("fcm:\n  priority: 10", "fcm.priority must be high or normal"),
    ("fcm:\n  token: x", "unknown key 'token'"),
    ("fcm:\n  notification:\n    sound: x", "FCM has no fcm.notification.sound"),
    ("fcm:\n  android_notification:\n    ttl: 1", "FCM has no fcm.android_notification.ttl"),
    ("fcm:\n  data: text", "fcm.data must be a map"),
    ("fcm:\n  data:\n    x: \"{{text.nowhere}}\"", "there is no text 'nowhere'"),
    ("push_type: voip\nfcm: {}", "pushes of type voip are Apple's alone"),
  ])
  func aMistakeInTheSectionIsNamed(_ section: String, _ words: String) {
    let problems = Samples.problems(section + "\npayload:\n  aps:\n    alert: a")
    #expect(problems.contains { $0.contains(words) }, "\(problems)")
  }

  @Test func aKeyThatFCMKeepsForItselfIsLeftOutWithAWarning() throws {
    let template = try Samples.compile(
      "payload:\n  aps:\n    alert: a\n  from: x\n  google.a: y\n  ok: z")
    #expect(template.warnings.map(\.message).filter { $0.contains("keeps the key") }.count == 2)
    let prepared = try RenderStage(templates: [template]).prepare(Samples.event())
    let message = try prepared.preview(recipient: [:]).messages[1]
    #expect(message.payload.hasSuffix(#""data":{"ok":"z"}}"#), "\(message.payload)")
  }

  @Test func pushTypesOfApplesAloneHaveNoOtherMessage() throws {
    let prepared = try Samples.prepare("push_type: voip\npayload:\n  aps: {}\n  a: b")
    #expect(try prepared.preview(recipient: [:]).messages.map(\.platform) == [.apns])
    #expect(prepared.payloadOf[Int(Destination.fcm.index)] == PreparedEvent.nothing)
  }

  // MARK: pages

  /// One user with a phone of each kind, in any order.
  private static func page(_ kinds: [Destination], name: String, _ prepared: PreparedEvent)
    -> RecipientPage
  {
    let page = Samples.page(
      [.init(user: "u", fields: ["name": Array(name.utf8)], devices: kinds.count)],
      fieldNames: prepared.fieldNames)
    for index in kinds.indices { page.bindings[index].destination = kinds[index] }
    return page
  }

  @Test func eachDeviceGetsItsPlatformsPayload() throws {
    let prepared = try Samples.prepare()
    let kinds: [Destination] = [.fcm, .production, .fcm, .sandbox]
    let tally = SegmentTally()
    let rendering = PageRendering(
      Self.page(kinds, name: "Mia", prepared), prepared, tally: tally, maximumPushes: 8)
    let batch = try #require(rendering.next())
    #expect(batch.entries.map(\.destination) == kinds && tally.pushes == 4)
    let texts = batch.entries.map { batch.bytes.string($0.payload) }
    #expect(texts[0] == texts[2] && texts[1] == texts[3])
    #expect(texts[0].hasPrefix(#","priority":"HIGH""#) && texts[1].hasPrefix(#"{"aps""#))
    #expect(texts.allSatisfy { $0.contains("Hi Mia") })
    #expect(batch.entries[0].payload.offset == batch.entries[2].payload.offset)
  }

  /// The batches' bound falls into the middle of a user.
  @Test func aUserInTwoBatchesGetsBothPayloadsInEach() throws {
    let prepared = try Samples.prepare()
    let kinds: [Destination] = [.fcm, .production, .fcm, .sandbox]
    let rendering = PageRendering(
      Self.page(kinds, name: "Mia", prepared), prepared, tally: SegmentTally(), maximumPushes: 3)
    var made: [Destination] = []
    while let batch = rendering.next() {
      for entry in batch.entries {
        made.append(entry.destination)
        let isAndroid = batch.bytes.string(entry.payload).hasPrefix(",")
        #expect(isAndroid == (entry.destination == .fcm))
      }
    }
    #expect(made == kinds)
  }

  @Test func aPayloadThatFitsOnePlatformOnlyIsRejectedOnTheOther() throws {
    let prepared = try Samples.prepare(
      "payload:\n  aps:\n    alert: a\n  x: \"{{recipient.name}}\"\nfcm:\n  data:\n    y: z")
    let tally = SegmentTally()
    let rendering = PageRendering(
      Self.page([.production, .fcm], name: String(repeating: "n", count: 4_090), prepared),
      prepared, tally: tally, maximumPushes: 8)
    let batch = try #require(rendering.next())
    #expect(batch.entries.map(\.destination) == [.fcm])
    #expect(tally.pushes == 2 && tally.rejected[Int(RejectionReason.unrenderable.index)] == 1)
  }

  @Test func devicesThatGetNothingOfATemplateAreNoPushes() throws {
    let prepared = try Samples.prepare("push_type: voip\npayload:\n  aps: {}\n  a: b")
    let tally = SegmentTally()
    let rendering = PageRendering(
      Self.page([.fcm, .production, .fcm], name: "Mia", prepared), prepared, tally: tally,
      maximumPushes: 8)
    let batch = try #require(rendering.next())
    #expect(batch.entries.map(\.destination) == [.production])
    #expect(tally.pushes == 1 && rendering.next() == nil)
    let other = PageRendering(
      Self.page([.fcm, .production], name: "Mia", prepared), prepared, tally: tally,
      maximumPushes: 8)
    other.settleRest(as: .expired)
    #expect(tally.pushes == 2 && tally.expired == 1)
  }

  /// Of the text that may be cut, as for Apple.
  @Test func aTextThatIsTooLongIsCutForBoth() throws {
    let preview = try Samples.prepare().preview(
      recipient: ["name": String(repeating: "n", count: 5_000)])
    #expect(preview.messages.allSatisfy { $0.isShortened && $0.byteCount <= 4_096 })
    let json = try StrictJSON(preview.messages[1].payload)
    #expect(json.text("notification.body")?.hasSuffix("n…") == true)
  }
}
