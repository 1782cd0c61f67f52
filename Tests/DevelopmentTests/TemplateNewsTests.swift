import Testing

@testable import Development

@Suite struct TemplateNewsTests {
  @Test func aMistakeIsNamedWithItsPlaceAndWhatToDo() throws {
    let words = try #require(
      TemplateNews.words(
        of:
          "13:57:57.285Z error   the templates have changed and cannot be used; the previous ones "
          + "stay in use  reason=\"/x/go-live.yaml:54:10: a key needs ': ' behind it\"",
        hasKeys: true))
    #expect(words.contains("\n  /x/go-live.yaml:54:10: a key needs ': ' behind it\n"))
    #expect(words.contains("press u"))
  }

  @Test func aChangeIsToldAndOtherLinesAreNot() {
    let used = "13:53:31.852Z notice  the templates on disk are used from now on  changed=go-live"
    #expect(
      TemplateNews.words(of: used, hasKeys: true)?.contains("uses the changed text now") == true)
    let odd =
      "13:53:31.852Z warning a template looks mistaken  place=\"go-live.yaml: stream.titel\""
    #expect(
      TemplateNews.words(of: odd, hasKeys: true)
        == "The changed text looks mistaken: go-live.yaml: stream.titel")
    // Nobody presses keys.
    #expect(
      TemplateNews.words(of: used, hasKeys: false) == "The worker uses the changed text now.")
    #expect(TemplateNews.words(of: "13:53:31.852Z notice  worker started", hasKeys: true) == nil)
  }
}
