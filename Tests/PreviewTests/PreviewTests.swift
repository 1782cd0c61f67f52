import Emission
import Ingest
import JSON
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

  @Test(arguments: [
    #"{"a":1.0,"b":12345678901234567890,"c":-0,"d":1e3,"e":0.12345678901234567,"f":1}"#,
    #"{"1.5":"2.5 \"3","a":[1.50,{"b":-7}],"c":9007199254740993}"#, "[1,2.0]",
  ])
  func numbersAreShownAsTheyWereWritten(_ text: String) {
    #expect(JSONOutput(json: text)?.serialized() == text)
  }
}
