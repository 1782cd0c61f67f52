import Testing
import Text

@Suite struct PercentTextTests {
  private func decoded(_ text: String, isStrict: Bool, isForm: Bool = false) -> String? {
    Array(text.utf8).withUnsafeBytes {
      PercentText.decoded($0, isStrict: isStrict, isForm: isForm)
    }.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(arguments: [("a%20b", "a b"), ("%C3%a9", "é"), ("", ""), ("%2541", "%41"), ("a+b", "a+b")])
  func escapesAreDecodedOnce(text: String, expected: String) {
    #expect(decoded(text, isStrict: true) == expected)
    #expect(decoded(text, isStrict: false) == expected)
  }

  @Test(arguments: ["%", "a%2", "%zz", "%2g", "100%"])
  func whatIsNoEscapeIsRefusedOrStandsForItself(text: String) {
    #expect(decoded(text, isStrict: true) == nil)
    #expect(decoded(text, isStrict: false) == text)
  }

  @Test func aPlusSignOfAFormIsASpace() {
    #expect(decoded("a+%2B", isStrict: true, isForm: true) == "a +")
  }

  @Test(arguments: [
    ("https://a/b-c_d.e~f", "https://a/b-c_d.e~f"), ("a b&c=d", "a%20b%26c%3Dd"), ("é", "%C3%A9"),
    ("", ""), ("%+?#", "%25%2B%3F%23"),
  ])
  func aValueIsEscapedForAQuery(text: String, expected: String) {
    #expect(PercentText.encoded(text) == expected)
    #expect(decoded(expected, isStrict: true) == text)
  }
}
