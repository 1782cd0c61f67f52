import Model
import Testing

@testable import Render

@Suite("Templates")
struct TemplateTests {
  @Test("A text is taken apart into literals and placeholders")
  func parts() {
    let text = TemplateText("{{{{a}} {{ streamer.name |  b, c}}! {{recipient.x}}}")
    #expect(text.faults.isEmpty)
    #expect(
      text.parts == [
        .literal("{{a}} "),
        .placeholder(.init(namespace: .streamer, name: "name", fallback: "  b, c")),
        .literal("! "),
        .placeholder(.init(namespace: .recipient, name: "x", fallback: nil)),
        .literal("}"),
      ])
  }

  @Test(
    "What is no placeholder is a fault",
    arguments: [
      "{{", "{{streamer.name", "{{}}", "{{name}}", "{{streamer.}}", "{{user.name}}",
      "{{event.app}}",
      "{{streamer.a b}}", "{{{streamer.name}}}", "{{ | x}}",
    ])
  func faults(_ text: String) {
    #expect(TemplateText(text).faults.count == 1, "\(text)")
  }

  @Test("A combining mark behind the braces hides nothing")
  func combiningMarks() {
    let text = TemplateText("{{streamer.name}}\u{301} {{\u{301}")
    #expect(
      text.parts.first == .placeholder(.init(namespace: .streamer, name: "name", fallback: nil)))
    #expect(text.faults.count == 1)
  }

  @Test("A template compiles; the profile fields are known, locale first")
  func compiles() throws {
    let template = try Samples.compile()
    #expect(template.recipientFields == ["locale", "badge", "name"])
    #expect(template.locales == ["en", "zh-Hant", "ja"])
    #expect(template.defaultLocale == "en")
    #expect(template.priority == 10 && template.isStored && template.pushType == .alert)
  }

  @Test("All problems are reported at once, each with its place, in the order of the file")
  func problems() {
    let problems = Samples.problems(
      """
      push_type: banner
      priority: 7
      colour: red
      collapse_id: "{{recipient.name}}"
      shorten: aps.alert.bod
      default_locale: fr
      payload:
        aps:
          alert:
            title: "{{text.title}}"
            body: "{{text.nothing}} {{user.x}}"
          badge: "{{recipient.badge|none}}"
      locales:
        en:
          title: "{{text.body}}"
          body: 7
        e_:
          title: x
        ja:
          titel: x
          title: "{{streamer.name"
      """)
    let places = problems.map { $0.split(separator: ":").prefix(3).joined(separator: ":") }
    #expect(
      places == [
        "go-live.yaml:1:12", "go-live.yaml:2:11", "go-live.yaml:3:1", "go-live.yaml:4:14",
        "go-live.yaml:5:10", "go-live.yaml:6:17", "go-live.yaml:11:13", "go-live.yaml:11:13",
        "go-live.yaml:12:12", "go-live.yaml:15:12", "go-live.yaml:16:11", "go-live.yaml:17:3",
        "go-live.yaml:20:5", "go-live.yaml:21:12",
      ], "\(problems.joined(separator: "\n"))")
    #expect(problems.contains { $0.contains("in locale en, ja nor") })
  }

  @Test(
    "Each rule has its message",
    arguments: [
      (
        "push_type: background\npriority: 10\npayload:\n  aps:\n    content-available: 1",
        "priority 5"
      ),
      ("push_type: background\npayload:\n  x: 1", "needs 'content-available: 1' in aps"),
      ("stored: 1\npayload:\n  x: 1", "true or false"),
      ("priority: 10", "payload is missing"),
      ("payload: []", "must be a map"),
      ("payload:\n  a:\n    - \"{{recipient.badge}}\"", "list cannot"),
      ("payload:\n  \"{{streamer.id}}\": 1", "cannot have placeholders"),
      ("payload:\n  a: 1\n  a: 2", "stands already in line 2"),
      ("payload:\n  a: inf", "finite"),
      ("shorten: 7\npayload:\n  a: b", "must be a text"),
      ("shorten: a\npayload:\n  a: 7", "none there"),
      (
        "payload:\n  a: \"{{text.t}}\"\nlocales:\n  zh_TW:\n    t: x\n  ZH-tw:\n    t: x",
        "locale of line 4 again"
      ),
      ("payload:\n  a: b\nlocales:\n  a1:\n    t: x", "no language tag"),
      (
        "payload:\n  a: \"{{text.t}}\"\nlocales:\n  en:\n    t: x\n  ja:\n    t: x",
        "name the default_locale"
      ),
      (
        "payload:\n  a: \"{{text.t}}\"\nlocales:\n  en:\n    t: x\naliases:\n  de: fr",
        "not among the locales"
      ),
      ("payload:\n  a: \"{{text.t}}\"", "no text 't'"),
      ("payload:\n  a: b\nlocales:\n  en:\n    t: x", "used nowhere"),
      ("payload:\n  a: \"\(String(repeating: "\\u4e00", count: 1366))\"", "without any value"),
    ])
  func rules(_ yaml: String, _ message: String) {
    let problems = Samples.problems(yaml)
    #expect(problems.count == 1 && problems[0].contains(message), "\(problems)")
  }

  @Test("A template's name must be one that events can use")
  func name() {
    #expect(throws: RenderError.self) {
      try Template.compile(TemplateReader.source(Samples.template, name: "Go Live"))
    }
  }

  @Test("A payload that is too deep is refused, not followed")
  func depth() {
    let place = TemplateSource.Place(line: 1, column: 1)
    var node = TemplateSource.Node(.string("x"), place)
    for _ in 0..<100 {
      node = TemplateSource.Node(.map([.init(key: "a", place: place, value: node)]), place)
    }
    let root = TemplateSource.Node(.map([.init(key: "payload", place: place, value: node)]), place)
    #expect(throws: RenderError.self) {
      try Template.compile(TemplateSource(name: "deep", file: "deep.yaml", root: root))
    }
  }

  @Test("An event with an unknown template is told which ones there are")
  func unknownTemplate() throws {
    let stage = RenderStage(templates: [try Samples.compile()])
    do throws(RenderError) {
      _ = try stage.prepare(Samples.event(template: "gone"))
      Issue.record("prepared")
    } catch {
      #expect(error.code == .unknownTemplate && error.description.contains("loaded: go-live"))
    }
  }
}
