import Emission
import Ingest
import JSON
import Render
import Terminal
import Testing

@testable import Preview

/// What `render` shows of a template and a person.
@Suite struct PreviewTests {
  @Test func theSampleIsAnEventThatWorkersTake() throws {
    let reader = EventReader(options: IngestOptions(), now: 1_795_248_000_000)
    let event = try reader.read(flags: TemplatePreview.sampleEvent(now: 1_795_248_000_000))
    #expect(event.name == "sample" && event.streamer == "s42")
  }

  @Test(arguments: ["u{1}", "", "a\nb"])
  func aUserWhoCanHaveNoKeyIsRefused(user: String) {
    let failure = #expect(throws: CommandFailure.self) { try RenderedPerson.check(user: user) }
    #expect(failure?.code == .usage)
  }

  @Test func devicesAreToldInWords() {
    var devices = RenderedPerson.Devices()
    #expect(PreviewText.words(devices) == "no device of this topic")
    devices.addressed = ["sandbox": 1, "production": 2]
    devices.others = 3
    devices.skipped = 4
    #expect(
      PreviewText.words(devices)
        == "devices: 2 in production, 1 in sandbox; 3 of other topics; 4 passed over: not a binding"
    )
    devices.suppressedBy = .muted
    #expect(PreviewText.words(devices) == "muted: nothing would be sent")
    devices.suppressedBy = .quiet
    #expect(PreviewText.words(devices) == "quiet hours: nothing would be sent now")
  }

  @Test func whatWasParsedIsPrintedInItsOrder() throws {
    let text = #"{"z":[1,-2,true,null],"a":{"é":"\u0007"},"d":0.5}"#
    let value = try #require(JSONOutput(json: text))
    #expect(
      try JSONValue.parse(Array(value.serialized().utf8)) == JSONValue.parse(Array(text.utf8)))
    #expect(value.serialized().hasPrefix(#"{"z":[1,-2,true,null],"a""#))
  }

  // MARK: platforms

  private static func preview(_ alert: String, webpush: [String: String]) throws -> RenderPreview {
    let place = TemplateSource.Place(line: 1, column: 1)
    func node(_ value: TemplateSource.Value) -> TemplateSource.Node { .init(value, place) }
    func map(_ members: [(String, TemplateSource.Value)]) -> TemplateSource.Value {
      .map(members.map { .init(key: $0, place: place, value: node($1)) })
    }
    var members = [("payload", map([("aps", map([("alert", .string(alert))]))]))]
    if !webpush.isEmpty {
      members.append(("webpush", map(webpush.map { ($0, .string($1)) })))
    }
    let template = try Template.compile(
      TemplateSource(name: "a", file: "a.yaml", root: node(map(members))))
    let reader = EventReader(options: IngestOptions(), now: 1_795_248_000_000)
    let event = try reader.read(flags: TemplatePreview.sampleEvent(now: 1_795_248_000_000)).event
    return try TemplatePreview(template, #require(event)).preview(RenderedPerson())
  }

  @Test func aBrowsersMessageIsShownWithItsUrgencyAndSize() throws {
    let preview = try Self.preview("hi", webpush: ["urgency": "low", "tag": "t"])
    let text = PreviewText.text(preview, RenderedPerson())
    #expect(text.contains("\nwebpush\nurgency           low\n{"), "\(text)")
    let object = PreviewText.json(preview, RenderedPerson()).serialized()
    let shown = try JSONValue.parse(Array(object.utf8)).object?["webpush"]?.object
    #expect(shown?["urgency"]?.string == "low" && shown?["maximum_bytes"]?.integer == 3_993)
    let notification = shown?["payload"]?.object?["notification"]?.object
    #expect(notification?["title"]?.string == "hi" && notification?["tag"]?.string == "t")
    let bytes = try #require(shown?["bytes"]?.integer)
    #expect(text.contains("\n\(bytes) of 3993 bytes\n"), "\(text)")
    let notes = shown?["notes"]?.array?.compactMap(\.string) ?? []
    #expect(notes.count == 1 && notes.allSatisfy { text.contains("bytes\n\($0)\n") }, "\(notes)")
  }

  @Test func aMessageThatIsTooLongForBrowsersAloneIsTold() throws {
    let preview = try Self.preview(String(repeating: "x", count: 3_980), webpush: [:])
    let problem = "the payload is over the push service's 3993 bytes"
    #expect(PreviewText.text(preview, RenderedPerson()).contains("\nwebpush\n\(problem)"))
    let object = PreviewText.json(preview, RenderedPerson()).serialized()
    let shown = try JSONValue.parse(Array(object.utf8)).object
    #expect(shown?["webpush"]?.object?["problem"]?.string?.hasPrefix(problem) == true)
    #expect(shown?["payload"]?.object != nil && shown?["fcm"]?.object?["payload"] != nil)
  }

  @Test(arguments: [
    #"{"a":1.0,"b":12345678901234567890,"c":-0,"d":1e3,"e":0.12345678901234567,"f":1}"#,
    #"{"1.5":"2.5 \"3","a":[1.50,{"b":-7}],"c":9007199254740993}"#, "[1,2.0]",
  ])
  func numbersAreShownAsTheyWereWritten(_ text: String) {
    #expect(JSONOutput(json: text)?.serialized() == text)
  }
}
