import Testing
import Text

/// Canonically equivalent texts are two.
@Suite struct ExactTextTests {
  private static let composed = "jos\u{E9}"
  private static let decomposed = "jose\u{301}"

  @Test func textsOfOtherBytesDiffer() {
    #expect(Self.composed == Self.decomposed, "to Swift they are one")
    #expect(ExactText(Self.composed) != ExactText(Self.decomposed))
    #expect(!Self.composed.isExactly(Self.decomposed) && Self.composed.isExactly(Self.composed))
    #expect(Set([Self.composed, Self.decomposed, Self.composed].map { ExactText($0) }).count == 2)
  }

  @Test func textsOfTheSameBytesAreOne() {
    // One that is stored inside its own words, and one that is not.
    for text in ["é", String(repeating: "é", count: 100)] {
      let other = String(decoding: Array(text.utf8), as: UTF8.self)
      #expect(ExactText(text) == ExactText(other))
      #expect(ExactText(text).hashValue == ExactText(other).hashValue)
    }
    #expect(ExactText("e1") == "e1")
  }
}
