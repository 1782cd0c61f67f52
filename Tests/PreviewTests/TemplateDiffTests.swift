import Render
import Testing

@testable import Preview

/// What readers would see changed.
@Suite struct TemplateDiffTests {
  private func diff(_ change: (inout String) -> Void) throws -> TemplateDiff {
    var text = Samples.text
    change(&text)
    return TemplateDiff(
      old: try Samples.template(), new: try Samples.template(text), event: try Samples.event())
  }

  @Test func aCommentIsNoDifference() throws {
    #expect(try diff { $0 = "# new\n" + $0 }.isEmpty)
    #expect(
      TemplateDiffReport(added: [], removed: [], changed: []).text
        == "no reader would see a difference\n")
  }

  @Test func aChangedTextStandsOnceForAllPlatforms() throws {
    let diff = try diff { $0 = $0.replacing("ist live", with: "ist da") }
    #expect(diff.changes.count == 1)
    let change = try #require(diff.changes.first)
    #expect(change.what == "title" && change.old == "Aiko ist live" && change.new == "Aiko ist da")
    #expect(change.platforms == ["apns", "fcm", "webpush"] && change.locales == ["de"])
    #expect(diff.sizes.map(\.platform) == ["apns", "fcm", "webpush"])
    #expect(diff.sizes.allSatisfy { ($0.old ?? 0) - ($0.new ?? 0) == 2 })
  }

  /// With every value there nobody sees it.
  @Test func aChangedFallbackIsFound() throws {
    let diff = try diff { $0 = $0.replacing("name|you", with: "name|friend") }
    #expect(diff.changes.map(\.isWithoutValues) == [true])
    #expect(diff.changes.map(\.new) == ["friend, "])
  }

  @Test func localesValuesAndSettingsAreNamed() throws {
    let diff = try diff {
      $0 = $0.replacing("  de:", with: "  fr:").replacing("stream.title", with: "data.game")
      $0 += "priority: 5\n"
    }
    #expect(diff.addedLocales == ["fr"] && diff.removedLocales == ["de"])
    #expect(diff.addedValues == ["data.game"] && diff.removedValues == ["stream.title"])
    #expect(diff.settings.map(\.name) == ["priority"])
    let german = diff.changes.first { $0.what == "title" && $0.locales == ["de"] }
    #expect(german?.new == "Aiko is live", "readers of the lost locale get the default")
  }

  @Test func theReportReads() throws {
    let change = try diff { $0 = $0.replacing("ist live", with: "ist da") }
    let text = TemplateDiffReport(added: ["a"], removed: ["b"], changed: [change]).text
    #expect(
      text.hasPrefix(
        """
        a: a new template
        b: is removed
        go-live
          title for de (apns, fcm, webpush)
            before  Aiko ist live
            after   Aiko ist da
                             ^^
          bytes
            de: apns
        """), "\(text)")
  }
}
