import Ingest
import Kafka
import Model
import Testing

@Suite struct StragglerLabelTests {
  private static let all = StragglerLabel(
    route: PushRoute(destination: .sandbox, topic: "com.example.live.voip"),
    notBefore: 1_795_248_000_123, writtenAt: 1, expiresAt: 253_402_300_799_999)

  @Test func allIsReadWithoutTheRecord() {
    #expect(StragglerLabel(message([], headers: Self.all.headers)) == Self.all)
    let none = StragglerLabel(route: nil, notBefore: nil, writtenAt: nil, expiresAt: nil)
    #expect(none.headers == [] && StragglerLabel(message([])) == none)
    var refused = Self.all
    refused.isRefused = true
    refused.askAgainAt = 1_795_248_030_123
    #expect(StragglerLabel(message([], headers: refused.headers)) == refused)
    #expect(
      Self.all.headers.map(\.name)
        == ["fanfare-not-before", "fanfare-written", "fanfare-expires", "fanfare-route"])
  }

  @Test(arguments: [
    "", "soon", "1e9", String(repeating: "9", count: 30), "-9223372036854775808",
    "9223372036854775807", "-1", "253402300800000", "000000000000000000001",
  ])
  func whatIsNoTimeIsNone(_ value: String) {
    for header in Self.all.headers + [KafkaHeader("fanfare-ask-again", "")] {
      let label = StragglerLabel(message([], headers: [KafkaHeader(header.name, value)]))
      #expect(label.headers == [], "\(header.name) \(value)")
    }
    let empty = KafkaHeader(name: "fanfare-not-before", value: nil)
    #expect(StragglerLabel(message([], headers: [empty])).notBefore == nil)
  }

  @Test(arguments: [
    "sandbox", "sandbox ", "Sandbox a.b", " a.b", "prod a.b", "sandbox a b", "sandbox a.b\u{1}",
    "sandbox \u{E9}", "sandbox " + String(repeating: "a", count: Binding.maximumTopicBytes + 1),
  ])
  func whatIsNoRouteIsNone(_ value: String) {
    #expect(
      StragglerLabel(message([], headers: [KafkaHeader("fanfare-route", value)])).route == nil)
  }
}
