import Foundation
import Testing

@testable import Terminal

@Suite struct JSONOutputTests {
  @Test func membersKeepTheirOrder() {
    var object: JSONObject = ["z": 1, "a": ["x": nil, "y": [true, "t", 2.5]]]
    object["m"] = .number(1.0 / 3, digits: 2)
    object["z"] = 2
    #expect(
      JSONOutput.object(object).serialized()
        == #"{"z":2,"a":{"x":null,"y":[true,"t",2.5]},"m":0.33}"#)
    object["a"] = nil
    #expect(
      JSONOutput.object(object).serialized(indented: true) == "{\n  \"z\": 2,\n  \"m\": 0.33\n}")
    #expect(JSONOutput.object([:]).serialized(indented: true) == "{}")
    #expect(JSONOutput.array([]).serialized(indented: true) == "[]")
  }

  @Test func numbersAreAlwaysValid() {
    func text(_ value: Double, _ digits: Int = 3) -> String {
      JSONOutput.number(value, digits: digits).serialized()
    }
    #expect(text(1234.5678, 1) == "1234.6")
    #expect(text(100) == "100")
    #expect(text(1.1, 0) == "1")
    #expect(text(-0.0001) == "0")
    #expect(text(.nan) == "null" && text(-.infinity) == "null")
    #expect(text(2.5, 99) == "2.5" && text(2.5, -1) == "3")
    for value in [1e300, -1e18, 2.5e-308, 123456789.123456789] {
      #expect(Double(text(value, 9)) != nil)
    }
    #expect(JSONOutput.integer(.min).serialized() == "-9223372036854775808")
  }

  @Test func hostileTextIsReadBackUnchanged() throws {
    let scalars = (0..<0x3000).compactMap { UInt32($0) }.compactMap(Unicode.Scalar.init)
    var text = "\"\\\r\n\u{2028}\u{10FFFF}👩‍👩‍👧‍👦\u{202E}"
    text.unicodeScalars.append(contentsOf: scalars)
    let written = JSONOutput.object([text: .text(text)]).serialized()
    #expect(!written.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F })
    let read = try JSONDecoder().decode([String: String].self, from: Data(written.utf8))
    #expect(read.first?.value.unicodeScalars.elementsEqual(text.unicodeScalars) == true)
    #expect(read.first?.key.unicodeScalars.elementsEqual(text.unicodeScalars) == true)
  }
}
