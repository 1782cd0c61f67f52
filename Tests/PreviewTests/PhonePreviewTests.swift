import Render
import Testing

@testable import Preview

/// Templates as phones show them.
@Suite struct PhonePreviewTests {
  private func text(
    _ template: String = Samples.text, width: Int = 40, _ fields: [String: String] = [:]
  ) throws -> String {
    var person = RenderedPerson()
    person.fields = fields
    return try PhonePreview(Samples.template(template), Samples.event(), person).text(width: width)
  }

  @Test func aCardHasWhatALockScreenShows() throws {
    let shown = try text(width: 90, ["name": "Ken", "badge": "1"])
    #expect(
      shown.hasPrefix(
        """
        go-live: alert
        ┌ en ──────────────────────────────────┐  ┌ de ──────────────────────────────────┐
        │ Aiko is live                         │  │ Aiko ist live                        │
        │ Ken, Speedrun night                  │  │ Ken, Speedrun night                  │
        └──────────────────────────────────────┘  └──────────────────────────────────────┘
        apns
        """), "\(shown)")
    #expect(shown.contains("lacks the text body and borrows it"))
    #expect(!shown.contains("no fallback"))
  }

  @Test func aNarrowTerminalHasOneColumn() throws {
    let lines = try text().split(separator: "\n")
    #expect(lines.count { $0.hasPrefix("┌ ") } == 2 && lines.allSatisfy { $0.count < 90 })
  }

  @Test func longTextsAreCutAsAPhoneCutsThem() throws {
    let words = String(repeating: "word ", count: 60)
    let shown = try text(Samples.text.replacing("is live", with: words))
    #expect(shown.contains("│ Aiko word word word word word word … │"), "\(shown)")
    let body = try text(Samples.text.replacing("name|you}},", with: "name|you}}, \(words)"))
    let lines = body.split(separator: "\n")
    let end = try #require(lines.firstIndex { $0.hasPrefix("└") })
    #expect(end == 7 && lines[end - 1].contains("…"), "\(body)")
  }

  @Test func missingValuesAreNamed() throws {
    let shown = try text(Samples.text.replacing("stream.title", with: "data.game"))
    #expect(shown.contains("the event has no data.game, and it has no fallback"))
    #expect(shown.contains("the profile has no badge, and it has no fallback"))
  }

  @Test func aSilentPushShowsNothing() throws {
    let shown = try text(
      "push_type: background\npayload: { aps: { content-available: 1 } }\n")
    #expect(shown.contains("│ (nothing is shown)"), "\(shown)")
  }

  @Test func aPlatformWithItsOwnTextHasItsOwnCard() throws {
    let shown = try text(Samples.text + "webpush: { title: Own }\n")
    #expect(shown.contains("┌ en, webpush ─") && shown.contains("│ Own "), "\(shown)")
  }

  @Test func scriptsGetAnObjectForEachLocale() throws {
    let phone = try PhonePreview(Samples.template(), Samples.event(), RenderedPerson())
    let lines = phone.json.map { $0.serialized() }
    #expect(lines.count == 2 && lines[1].contains(#""locale":"de","used_locale":"de""#))
    #expect(lines[1].contains(#""borrowed_texts":["body"]"#), "\(lines)")
  }
}
