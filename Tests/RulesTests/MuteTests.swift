import Rules
import Testing

/// Who has muted what.
@Suite struct MuteTests {
  private let rules = RecipientRules(mutesStreamers: true)

  @Test(arguments: [
    ("1", true), ("true", true), ("", false), ("0", false), ("no", false), ("True", false),
    ("11", false), ("truE", false),
  ])
  func ofEverything(value: String, isMuted: Bool) {
    #expect((verdict(RecipientRules(), [.muted: value]).suppressedBy == .muted) == isMuted)
  }

  @Test(arguments: [
    ("s1", true), ("s1\ns2", true), ("s2\ns1", true), ("s0\ns1\ns2\n", true), ("\n\ns1", true),
    ("", false), ("\n", false), ("s11", false), ("s", false), ("s2\ns11\nas1", false),
    ("s1 ", false), ("s1,s2", false), ("s1\r\n", false),
  ])
  func ofOneStreamer(list: String, isMuted: Bool) {
    let found = verdict(rules, [.mutedStreamers: list])
    #expect((found.suppressedBy == .muted) == isMuted && found.malformed == 0)
  }

  @Test func anIDMayHoldWhatOthersSeparateListsBy() {
    let list: [RuleField: String] = [.mutedStreamers: "a, b;c\tä"]
    #expect(verdict(rules, streamer: "a, b;c\tä", list).suppressedBy == .muted)
    #expect(verdict(rules, streamer: "b", list).suppressedBy == nil)
  }

  @Test func nobodyLooksAtStreamersUnlessTold() {
    #expect(verdict(RecipientRules(), [.mutedStreamers: "s1"]) == RuleVerdict())
    #expect(RecipientRules().fields == [.muted])
    #expect(rules.fields == [.muted, .mutedStreamers])
  }

  @Test func aListThatIsTooLongCountsAsFarAsItIsRead() {
    let filler = String(repeating: "x", count: 127) + "\n"
    let longest = String(repeating: filler, count: RecipientJudge.maximumListBytes / 128 - 1)
    let fits = longest + String(repeating: "y", count: 125) + "\ns1"
    #expect(fits.utf8.count == RecipientJudge.maximumListBytes)
    #expect(verdict(rules, [.mutedStreamers: fits]).suppressedBy == .muted)
    #expect(verdict(rules, [.mutedStreamers: fits]).malformed == 0)
    // What the end would cut in two is another streamer's.
    let cut = verdict(rules, [.mutedStreamers: fits + "2"])
    #expect(cut.suppressedBy == nil && cut.malformed == 1)
    let late = verdict(rules, [.mutedStreamers: fits + "2\ns1"])
    #expect(late.suppressedBy == nil && late.malformed == 1)
    let early = verdict(rules, [.mutedStreamers: "s1\n" + fits])
    #expect(early.suppressedBy == .muted && early.malformed == 1)
  }
}
