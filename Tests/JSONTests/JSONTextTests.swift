import JSON
import Testing
import Text

@Suite struct JSONTextTests {
  @Test func writesCompactly() {
    let value: JSONValue = [
      "b": [nil, true, 1, 1.5, "x"], "a": ["nested": [:]], "d": .double(1e300), "e": [],
    ]
    #expect(
      JSONText.compact(value)
        == #"{"b":[null,true,1,1.5,"x"],"a":{"nested":{}},"d":1e+300,"e":[]}"#)
  }

  @Test func escapesStrings() {
    #expect(
      JSONString.quoted("a\"b\\c\n\r\t\u{0}\u{1F}\u{7F}é😀/")
        == ##""a\"b\\c\n\r\t\u0000\u001f\u007fé😀/""##)
    #expect(JSONString.quoted("\u{2028}\u{2029}") == #""\u2028\u2029""#)
  }

  @Test func writesNullForWhatJSONCannotSay() {
    #expect(JSONText.compact([.double(.nan), .double(.infinity)]) == "[null,null]")
  }

  @Test func readsBackWhatItWrote() throws {
    let value: JSONValue = [
      "text": "\u{1}\u{2028} \"\\ 😀",
      "numbers": [0, -1, .integer(.min), .double(0.1), .double(-Double.leastNonzeroMagnitude)],
      "": [nil, false],
    ]
    #expect(try JSONValue.parse(Array(JSONText.compact(value).utf8)) == value)
  }

  @Test func replacesAMemberInItsPlace() {
    var object = JSONObject([("a", 1), ("b", 2), ("a", 3)])
    #expect(object.members.map(\.name) == ["a", "b"])
    #expect(object["a"] == 3)
    object["a"] = nil
    #expect(object.count == 1)
  }
}
