import Testing

@testable import Render

/// Values that stand in a payload as what they are: a Live Activity that gets the text "true" for a
/// boolean freezes.
@Suite struct TypedValueTests {
  private func payload(
    _ yaml: String, data: [String: String] = [:], _ fields: [String: String] = [:]
  ) throws -> String {
    var values = Samples.fields
    for (name, value) in data { values["data.\(name)"] = value }
    let prepared = try Samples.prepare("payload:\n" + yaml, Samples.event(fields: values))
    return try prepared.preview(recipient: fields).payload
  }

  private static let yaml = """
      a: "{{boolean data.live}}"
      b: "{{ integer  data.viewers }}"
      c: "{{json data.state}}"
      d: "{{boolean recipient.muted}}"
      e: "{{integer recipient.level}}"
      f: x
    """

  @Test func eachHasItsType() throws {
    #expect(
      try payload(
        Self.yaml,
        data: ["live": "true", "viewers": "9223372036854775807", "state": #"{"h":[1]}"#],
        ["muted": "1", "level": "-9223372036854775808"])
        == #"{"f":"x","a":true,"b":9223372036854775807,"c":{"h":[1]},"d":true,"#
        + #""e":-9223372036854775808}"#)
    #expect(
      try payload(
        Self.yaml, data: ["live": "0", "viewers": "0", "state": "[]"],
        ["muted": "false", "level": "7"])
        == #"{"f":"x","a":false,"b":0,"c":[],"d":false,"e":7}"#)
  }

  @Test(arguments: [
    ("live", "yes"), ("live", "True"), ("live", "2"), ("live", "true "), ("viewers", "1.0"),
    ("viewers", "01"), ("viewers", "9223372036854775808"), ("viewers", "-9223372036854775809"),
    ("viewers", "many"), ("viewers", "-"), ("viewers", "1e3"), ("state", "7"), ("state", "{"),
    ("state", #"{"a":1,"a":2}"#), ("state", #"{}","x":{"#), ("state", "text"), ("state", "{}{}"),
  ])
  func whatIsNotOfItsTypeIsLeftOut(_ name: String, _ value: String) throws {
    #expect(try payload(Self.yaml, data: [name: value]) == #"{"f":"x"}"#)
    #expect(
      try payload(Self.yaml, data: ["live": "1"], ["muted": value, "level": "x"])
        == #"{"f":"x","a":true}"#)
  }

  @Test func aFallbackKeepsTheKey() throws {
    let yaml = """
        a: "{{boolean data.live|false}}"
        b: "{{integer data.viewers|0}}"
        c: {{json data.state|{"home":{"goals":0}}}}
        d: "{{json data.list|[]}}"
        e: "{{boolean recipient.muted|true}}"
      """
    let wrong = try payload(yaml, data: ["live": "x", "viewers": "x"])
    #expect(wrong == #"{"a":false,"b":0,"c":{"home":{"goals":0}},"d":[],"e":true}"#)
  }

  @Test func theSlowWayToAPayloadKnowsTypesToo() throws {
    let yaml = """
      shorten: a
      payload:
        a: "{{recipient.bio}}"
        d: "{{boolean recipient.muted}}"
        e: "{{integer recipient.level|5}}"
        g: "{{boolean recipient.other}}"
      """
    let prepared = try Samples.prepare(yaml)
    let long = String(repeating: "x", count: 5_000)
    let shown = try prepared.preview(
      recipient: ["bio": long, "muted": "0", "level": "no", "other": "?"])
    #expect(shown.isShortened && shown.payload.hasSuffix(#"…","d":false,"e":5}"#))
  }

  private static let mistakes: [(String, String)] = [
    (#""{{boolean data.x|yes}}""#, "must be true or false"),
    (#""{{integer data.x|1.5}}""#, "must be a whole number of 64 bits"),
    (#""{{json data.x|[1}}""#, "must be a JSON object or list"),
    (#""{{json data.x|{1}}""#, "is opened with '{{' and not closed"),
    (#""it is {{boolean data.x}}""#, "leave 'boolean' out"),
    (#""{{json data.x}} ""#, "leave 'json' out"), ("\n    - \"{{integer data.x}}\"", "use a map"),
    (#""{{json recipient.x}}""#, "json is for an event's"),
    (#""{{bool data.x}}""#, "no type 'bool' in '{{bool data.x}}': use one of number, integer"),
    (#""{{Boolean data.x}}""#, "no type 'Boolean'"), (#""{{a b.x}}""#, "unknown namespace 'a b'"),
    (#""{{boolean x}}""#, "number, integer, boolean or json before the name"),
  ]

  @Test(arguments: mistakes)
  func mistakesAreSaidWhenTheTemplateIsCompiled(_ value: String, _ words: String) {
    let problems = Samples.problems("payload:\n  a: \(value)\n")
    #expect(problems.contains { $0.contains(words) }, "\(problems)")
  }

  // MARK: Live Activities

  private func warnings(_ state: String) throws -> [String] {
    try Samples.compile(
      """
      push_type: liveactivity
      payload:
        aps:
          event: update
          timestamp: "{{event.occurred_at}}"
          content-state:
            \(state)
      """
    ).warnings.map(\.message)
  }

  @Test(arguments: [
    (#"isLive: "{{data.x}}""#, "boolean data.x"), (#"has_ended: "{{data.x}}""#, "boolean data.x"),
    (#"x: "{{data.isLive}}""#, "boolean data.isLive"), (#"x: "{{data.y|true}}""#, "boolean data.y"),
    (#"viewerCount: "{{data.x}}""#, "integer data.x"), (#"startedAt: "{{data.x}}""#, "integer"),
    (#"x: "{{stream.viewers}}""#, "integer stream.viewers"), (#"x: "{{data.y|0}}""#, "integer"),
    (#"isLive: "true""#, "leave the quotation marks out"), (#"x: "12""#, "leave the quotation"),
    ("home:\n        score: \"{{data.x}}\"", "aps.content-state.home.score"),
  ])
  func aTextThatLooksTypedIsSaid(_ state: String, _ words: String) throws {
    let warnings = try warnings(state)
    #expect(warnings.count == 1 && warnings.first?.contains(words) == true, "\(warnings)")
  }

  @Test(arguments: [
    #"title: "{{stream.title}}""#, #"isLive: "{{boolean data.x}}""#, "isLive: true",
    #"viewers: "{{integer data.viewers|0}}""#, #"score: "{{number data.x}}""#,
    #"note: "{{data.count}} watch""#, #"island: "{{data.island}}""#, #"chat: "{{data.chat}}""#,
    #"state: "{{json data.state}}""#,
  ])
  func whatIsRightIsNotSaid(_ state: String) throws {
    #expect(try warnings(state) == [])
  }

  @Test func aWholeStateMayComeFromTheEvent() throws {
    let yaml = """
      push_type: liveactivity
      payload:
        aps:
          event: update
          timestamp: "{{event.occurred_at}}"
          content-state: {{json data.state|{"isLive":false}}}
      """
    var fields = Samples.fields
    fields["data.state"] = #"{"isLive":true,"viewers":3}"#
    let shown = try Samples.prepare(yaml, Samples.event(fields: fields)).preview(recipient: [:])
    #expect(shown.payload.contains(#""content-state":{"isLive":true,"viewers":3}"#))
    let none = try Samples.prepare(yaml).preview(recipient: [:])
    #expect(none.payload.contains(#""content-state":{"isLive":false}"#))
  }

  @Test func whatAnEventGetsWrongIsSaid() throws {
    let template = try Samples.compile(
      """
      payload:
        a: "{{integer data.viewers|0}}"
        b: "{{boolean data.live}}"
        c: "{{stream.titel}}"
        d: "{{data.x|none}}"
        e: "{{json data.is_live}}"
        f: "{{boolean data.is_live|false}}"
        g: "{{number recipient.level}}"
      """)
    var fields = Samples.fields
    fields["data.viewers"] = "many"
    fields["data.live"] = "on"
    let event = Samples.event(fields: fields)
    #expect(
      template.mistypedValues(of: event) == [
        "data.viewers is not a whole number of 64 bits: its fallback stands there",
        "data.live is not true or false: its key is left out",
      ])
    #expect(
      template.missingValues(of: event) == [
        "the event has no stream.titel, and it has no fallback: nothing stands there",
        "the event has no data.is_live, and it has no fallback: its key is left out",
      ])
    #expect(template.absentValues(of: event) == ["data.is_live"])
    #expect(template.mistypedValues(of: Samples.event()) == [])
    #expect(
      template.absentValues(of: Samples.event()) == ["data.live", "data.is_live"])
  }

  // MARK: spelling

  @Test(arguments: [
    ("{{streamer.nmae}}", "{{streamer.name}}"), ("{{stream.titel}}", "{{stream.title}}"),
    ("{{recipient.Name}}", "{{recipient.name}}"), ("{{recipient.locale_}}", "{{recipient.locale}}"),
    ("{{data.score}} {{data.score}} {{data.scor}}", "{{data.score}}"),
  ])
  func aMisspeltPlaceholderIsSaid(_ text: String, _ meant: String) throws {
    let warnings = try Samples.compile("payload:\n  aps: {}\n  a: \"\(text)\"\n").warnings.map(
      \.message)
    #expect(warnings.count == 1 && warnings.first?.contains(meant) == true, "\(warnings)")
  }

  @Test(arguments: [
    ("{streamer.name} is live", "{{streamer.name}}"), ("${stream.title}", "{{stream.title}}"),
    ("{ data.x }", "{{data.x}}"), ("data.x}} {{data.y}}", "{{data.x}}"),
    ("{{data.x|boolean}}", "no filters"), ("{{data.x | upper}}", "no filters"),
    ("{{data.x|default:0}}", "no filters"),
  ])
  func whatLooksLikeAPlaceholderIsSaid(_ text: String, _ words: String) throws {
    let warnings = try Samples.compile("payload:\n  aps: {}\n  a: \"\(text)\"\n").warnings.map(
      \.message)
    #expect(warnings.count == 1 && warnings.first?.contains(words) == true, "\(warnings)")
  }

  @Test(arguments: [
    "{{{{data.x}}", "{data}", "see data.x and {this}", "metadata.x}}", "{{data.x|uppercut}}",
    "{{streamer.name}}", "{{streamer.handle}}", "{{data.team1}} {{data.team1}} {{data.team2}}",
    "{{data.score}} {{data.scor}}", "{{recipient.nickname}}", "{{data.name}} {{data.title}}",
  ])
  func whatIsSpeltRightIsNotSaid(_ text: String) throws {
    #expect(try Samples.compile("payload:\n  aps: {}\n  a: \"\(text)\"\n").warnings.isEmpty)
  }

  @Test func aLocaleThatIsNoLanguageIsSaid() throws {
    let template = try Samples.compile(
      """
      default_locale: en
      payload:
        aps: {}
        a: "{{text.t}}"
      locales:
        en:
          t: x
        jp:
          t: y
      """)
    #expect(template.warnings.map { $0.message.contains("its language ja") } == [true])
  }
}
