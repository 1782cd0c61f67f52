import Model
import Testing

@testable import Render

/// What Apple asks of a push of each type: every row of the table, broken and kept.
@Suite("The rules of push types")
struct PushTypeRuleTests {
  /// A push that breaks one rule: its type, what stands before the payload, the payload, and the
  /// beginning of the rule's words with the place.
  private struct Breach {
    let type: PushType
    var head = ""
    let payload: String
    let words: String
    let line: Int
  }

  private static let state = "content-state:\n      a: b"
  private static let start =
    "event: start\n    timestamp: 1\n    \(state)\n    attributes-type: A\n    attributes:\n"
    + "      a: b\n    alert: hi"

  private static func aps(_ members: String) -> String { "  aps:\n    \(members)" }
  private static func live(without member: String) -> String {
    aps(start.replacing(member + "\n    ", with: ""))
  }

  /// Lines count from `push_type`.
  private static let breaches = [
    Breach(
      type: .alert, payload: aps("mutable-content: 1"), words: "mutable-content needs", line: 3),
    Breach(
      type: .background, head: "priority: 10\n", payload: aps("content-available: 1"),
      words: "a background push must have priority 5", line: 2),
    Breach(
      type: .background, payload: aps("content-available: 0"),
      words: "a background push needs 'content-available: 1'", line: 4),
    Breach(
      type: .background, payload: aps("content-available: 1\n    thread-id: x"),
      words: "a background push has nothing but", line: 5),
    Breach(
      type: .liveactivity, payload: aps("timestamp: 1"),
      words: "a Live Activity's push needs 'event'",
      line: 3),
    Breach(
      type: .liveactivity, payload: live(without: "timestamp: 1"),
      words: "a Live Activity's push needs a 'timestamp'", line: 3),
    Breach(
      type: .liveactivity, payload: live(without: state),
      words: "the start and the update of a Live Activity need 'content-state'", line: 3),
    Breach(
      type: .liveactivity, payload: aps("event: end\n    timestamp: 1"),
      words: "the end of a Live Activity should", line: 3),
    Breach(
      type: .liveactivity, payload: live(without: "attributes-type: A"),
      words: "the start of a Live Activity needs 'attributes-type'", line: 3),
    Breach(
      type: .liveactivity, payload: live(without: "attributes:\n      a: b"),
      words: "the start of a Live Activity needs 'attributes'", line: 3),
    Breach(
      type: .liveactivity, payload: aps(start.replacing("\n    alert: hi", with: "")),
      words: "the start of a Live Activity needs an 'alert'", line: 3),
    Breach(
      type: .liveactivity,
      payload: aps("event: update\n    timestamp: 1\n    dismissal-date: 2\n    \(state)"),
      words: "only the end of a Live Activity", line: 6),
    Breach(
      type: .liveactivity,
      payload: aps("event: update\n    timestamp: 1\n    attributes-type: A\n    \(state)"),
      words: "only the start of a Live Activity has this key", line: 6),
    Breach(
      type: .alert, payload: aps("alert: x\n    stale-date: 1"),
      words: "only a Live Activity's push has this key", line: 5),
    Breach(
      type: .widgets, payload: aps("content-changed: false"), words: "a widget's push needs",
      line: 4),
    Breach(type: .controls, payload: "  a: b", words: "a control's push needs", line: 2),
    Breach(
      type: .alert, payload: aps("alert: x\n    content-changed: true"),
      words: "only the pushes of widgets and controls", line: 5),
    Breach(
      type: .voip, head: "stored: true\n", payload: "  a: b", words: "a voip push should not",
      line: 2),
    Breach(
      type: .pushtotalk, head: "priority: 5\n", payload: "  a: b",
      words: "a pushtotalk push must have priority 10", line: 2),
    Breach(
      type: .pushtotalk, head: "stored: true\n", payload: "  a: b",
      words: "a pushtotalk push must have 'stored: false'", line: 2),
    Breach(type: .mdm, payload: "  a: b", words: "an mdm push needs", line: 2),
    Breach(
      type: .mdm, payload: "  mdm: x\n  aps:\n    alert: x", words: "an mdm push must not",
      line: 4),
    Breach(
      type: .fileprovider, payload: "  a: b", words: "a fileprovider push should", line: 2),
  ]

  @Test("A template that breaks a rule is told so, with the page and the place")
  func broken() throws {
    for breach in Self.breaches {
      let yaml = "push_type: \(breach.type.rawValue)\n\(breach.head)payload:\n\(breach.payload)\n"
      let rule = try #require(
        PushTypeRule.all.first { $0.words.hasPrefix(breach.words) }, "\(breach.words)")
      let said =
        rule.isWarning
        ? try Samples.compile(yaml).warnings.map(\.description)
        : Samples.problems(yaml)
      #expect(said.count == 1, "\(breach.words): \(said)")
      let beginning = "go-live.yaml:\(breach.line):"
      #expect(said.first?.hasPrefix(beginning) == true, "\(breach.words): \(said)")
      #expect(said.first?.hasSuffix("\(rule.words) \(rule.page.reference)") == true, "\(said)")
    }
  }

  @Test("Every rule is broken by a template of these tests")
  func table() {
    let unbroken = PushTypeRule.all.filter { rule in
      !Self.breaches.contains { rule.words.hasPrefix($0.words) }
    }
    #expect(unbroken.map(\.words) == [])
    #expect(Self.breaches.count == PushTypeRule.all.count)
  }

  @Test(
    "A push that keeps the rules of its type is taken without a word",
    arguments: [
      (PushType.alert, aps("alert: x\n    mutable-content: 1\n    content-available: 1")),
      (.background, aps("content-available: 1") + "\n  a: b"),
      (.liveactivity, aps(start + "\n    input-push-token: 1\n    stale-date: 2")),
      (
        .liveactivity,
        aps("event: update\n    timestamp: \"{{event.occurred_at}}\"\n    \(state)\n    alert: x")
      ),
      (
        .liveactivity,
        aps(
          "event: end\n    timestamp: \"{{number data.at|0}}\"\n    \(state)\n    dismissal-date: 2"
        )
      ),
      (.liveactivity, aps("event: \"{{data.event}}\"\n    timestamp: 1")),
      (.widgets, aps("content-changed: true")), (.controls, aps("content-changed: true")),
      (.voip, "  call: x"), (.pushtotalk, "  speaker: x"), (.complication, "  a: b"),
      (.location, "  a: b"), (.mdm, "  mdm: \"{{recipient.push_magic}}\""),
      (.fileprovider, "  container-identifier: x\n  domain: y"),
    ])
  func kept(_ type: PushType, _ payload: String) throws {
    let template = try Samples.compile("push_type: \(type.rawValue)\npayload:\n\(payload)\n")
    #expect(template.warnings == [])
  }

  @Test("A timestamp that may be left out is as bad as none")
  func missing() {
    let yaml = Self.aps("event: update\n    timestamp: \"{{number data.at}}\"\n    \(Self.state)")
    let problems = Samples.problems("push_type: liveactivity\npayload:\n\(yaml)\n")
    #expect(problems.count == 1 && problems[0].contains("never left out"), "\(problems)")
    #expect(problems.first?.hasPrefix("go-live.yaml:5:5:") == true)
  }

  @Test("Unless the template says it, priority and expiration are those that Apple asks for")
  func usual() throws {
    for type in PushType.allCases {
      #expect(type.usualPriority == (type == .background ? 5 : 10))
      #expect(type.isUsuallyStored == ![.voip, .pushtotalk].contains(type))
    }
    let call = try Samples.prepare("push_type: voip\npayload:\n  a: b")
    #expect(call.headers.expiration == 0 && call.headers.priority == 10)
    let kept = try Samples.prepare("push_type: voip\nstored: true\npayload:\n  a: b")
    #expect(kept.headers.expiration == 1_763_712_900)
  }
}
