import Emission
import Ingest
import Model
import Render
import Terminal
import Testing

@testable import Preview

/// The tests beside templates.
@Suite struct TemplateTestTests {
  private static func run(_ text: String) throws -> [TemplateTest.Result] {
    let cases = TemplateCases(try Samples.source(text, file: "go-live.tests.yaml"))
    #expect(cases.problems.isEmpty, "\(cases.problems)")
    return TemplateTest(try Samples.template(), cases, readEvent: Samples.event).run()
  }

  private static func failures(_ text: String) throws -> [String] {
    try run(text).flatMap(\.failures).map { "\($0.what): \($0.expected) | \($0.actual)" }
  }

  @Test func whatIsStatedMustHold() throws {
    let cases = """
      event: { stream: { title: Night } }
      cases:
        - name: all holds
          locale: de-AT
          person: { name: Ken, badge: 3 }
          expect:
            locale: de
            title: Aiko ist live
            body: Ken, Night
            apns: { payload: { aps: { badge: 3, sound: null } }, shortened: false }
            fcm: { title: Aiko ist live }
      """
    #expect(try Self.failures(cases) == [])
    let wrong =
      cases.replacing("title: Aiko ist live\n      body", with: "title: Aiko\n      body")
      .replacing("badge: 3, sound: null", with: "badge: 4, sound: default")
      .replacing("locale: de\n", with: "locale: en\n")
    #expect(
      try Self.failures(wrong) == [
        "locale: en | de", "title (apns, webpush): Aiko | Aiko ist live",
        "apns.payload.aps.badge: 4 | 3", "apns.payload.aps.sound: default | nothing",
      ])
  }

  @Test func aCaseThatStatesNothingFails() throws {
    let found = try Self.failures("cases: [ { name: empty } ]")
    #expect(found.count == 1 && found[0].hasPrefix("expect: "))
  }

  @Test func theDifferenceIsMarked() throws {
    let result = try Self.run(
      "cases: [ { name: a, expect: { title: Aiko was here, } } ]")[0]
    #expect(
      result.failures.first?.lines == [
        "expected  Aiko was here", "actual    Aiko is live", "               ^^^^^^",
      ])
    #expect(result.failures.first?.place == "go-live.tests.yaml:1:38")
  }

  @Test func anEventThatWorkersRefuseFails() throws {
    let found = try Self.failures(
      "cases: [ { name: a, event: { streamer: { id: null } }, expect: { title: a } } ]")
    #expect(found.count == 1 && found[0].contains("streamer.id"), "\(found)")
  }

  @Test(arguments: [
    ("case: []", "1:1: unknown key 'case': did you mean cases?"),
    ("cases: []", "1:1: holds no case"), ("cases: 1", "1:8: cases must be a list"),
    ("cases: [ { expect: { tilte: a } } ]", "1:22: unknown key 'tilte': did you mean title?"),
    ("cases: [ { expect: { fcm: { badge: 1 } } } ]", "1:29: unknown key 'badge'"),
    ("cases: [ { locale: [a] } ]", "1:20: must be one value"),
  ])
  func aMistakeIsToldWithItsPlace(text: String, message: String) throws {
    let problems = TemplateCases(try Samples.source(text, file: "t.yaml")).problems
    #expect(problems.count == 1 && problems[0].hasPrefix("t.yaml:\(message)"), "\(problems)")
  }

  @Test func anUpdateChangesNothingButWhatIsExpected() throws {
    let text = """
      # About the tests.
      cases:
        # Ken.
        - name: Ken
          person: { name: Ken }
          expect:
            title: wrong
            fcm: { bytes: 1 }

        - expect: { body: wrong }
          name: first key
        # Nobody.
        - name: new
          locale: de

      """
    let updated = try TemplateTestUpdate.text(text, file: "t", Self.run(text))
    let bytes = try Self.run(updated).map(\.isPassed)
    #expect(bytes == [true, true, true], "\(updated)")
    #expect(
      updated.hasPrefix(
        """
        # About the tests.
        cases:
          # Ken.
          - name: Ken
            person: { name: Ken }
            expect:
              title: "Aiko is live"
              fcm:
                bytes:
        """), "\(updated)")
    #expect(
      updated.contains("\n\n  - expect:\n      body: \"you, Speedrun night\"\n    name: first"))
    #expect(updated.contains("\n  # Nobody.\n  - name: new\n    locale: de\n    expect:\n"))
    #expect(try TemplateTestUpdate.text(updated, file: "t", Self.run(updated)) == updated)
  }

  @Test func aCaseOnOneLineIsChangedByHand() throws {
    let text = "cases: [ { name: a, expect: { title: b } } ]"
    #expect(throws: CommandFailure.self) {
      try TemplateTestUpdate.text(text, file: "t", Self.run(text))
    }
  }

  @Test func theReportIsForPeopleAndForCI() throws {
    let results = try Self.run(
      """
      cases:
        - { name: good, expect: { title: Aiko is live } }
        - { name: "bad <&>", expect: { title: Aiko } }
      """)
    let report = TemplateTestReport(file: "t.yaml", results: results)
    #expect(report.failed == 1)
    #expect(report.text().contains("  ok    good\n  FAIL  bad <&>\n"))
    let xml = TemplateTestReport.junit([report])
    #expect(xml.contains(#"<testsuite name="t.yaml" tests="2" failures="1">"#))
    #expect(xml.contains(#"name="bad &lt;&amp;&gt;">"#))
    #expect(report.json.map { $0.serialized().contains(#""passed":true"#) } == [true, false])
  }
}
