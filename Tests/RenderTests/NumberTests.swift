import JSON
import Model
import Testing

@testable import Render

/// Values that stand in a payload as JSON numbers.
@Suite("Numbers in a payload")
struct NumberTests {
  @Test(
    "What JSON takes as a number, written plainly, is one",
    arguments: [
      ("0", true, true), ("7", true, true), ("-12", true, true), ("123456789012345", true, true),
      ("1.5", false, true), ("-0.25", false, true), ("0.000000000000001", false, true),
      ("", false, false), ("-", false, false), ("01", false, false),
      ("1234567890123456", false, false),
      ("1.", false, false), (".5", false, false), ("1.5.", false, false), ("1e3", false, false),
      ("0.0000000000000001", false, false), ("+1", false, false), (" 1", false, false),
      ("1 ", false, false), ("0x1", false, false), ("١", false, false), ("1,5", false, false),
      ("NaN", false, false), ("1\",\"x\":\"", false, false),
    ])
  func text(_ text: String, _ isWhole: Bool, _ isNumber: Bool) {
    #expect(NumberText.isNumber(text, isWhole: true) == isWhole)
    #expect(NumberText.isNumber(text, isWhole: false) == isNumber)
  }

  private func payload(
    _ yaml: String, data: [String: String] = [:], _ fields: [String: String] = [:]
  ) throws -> String {
    var values = Samples.fields
    for (name, value) in data { values["data.\(name)"] = value }
    let prepared = try Samples.prepare("payload:\n" + yaml, Samples.event(fields: values))
    return try prepared.preview(recipient: fields).payload
  }

  @Test("A value of the event or the profile is a number where 'number' stands before it")
  func values() throws {
    let yaml = """
        a: "{{number data.viewers}}"
        b: "{{ number  recipient.level }}"
        c: "{{data.viewers}}"
      """
    #expect(
      try payload(yaml, data: ["viewers": "1200"], ["level": "3.5"])
        == #"{"c":"1200","a":1200,"b":3.5}"#)
    #expect(try payload(yaml, data: ["viewers": "many"], ["level": "x"]) == #"{"c":"many"}"#)
    #expect(try payload(yaml) == #"{"c":""}"#)
  }

  @Test("Commas are right whatever is left out")
  func commas() throws {
    let yaml = """
        s:
          a: "{{number data.a}}"
          b: "{{number recipient.b}}"
          c: "{{number data.c}}"
          d: "{{recipient.badge}}"
          e:
            f: "{{number data.f}}"
      """
    for mask in 0..<32 {
      func value(_ bit: Int) -> String { mask & 1 << bit == 0 ? "none" : String(bit) }
      let json = try StrictJSON(
        payload(
          yaml, data: ["a": value(0), "c": value(1), "f": value(2)],
          ["b": value(3), "badge": value(4)]))
      for (bit, path) in ["s.a", "s.c", "s.e.f", "s.b", "s.d"].enumerated() {
        #expect(
          json[path] == (mask & 1 << bit == 0 ? nil : .integer(Int64(bit))), "\(mask) \(path)")
      }
    }
  }

  @Test("A fallback keeps the key")
  func fallbacks() throws {
    let yaml = "  a: \"{{number data.a|-1.5}}\"\n  b: \"{{number recipient.b|2}}\"\n  c: x"
    #expect(try payload(yaml) == #"{"c":"x","a":-1.5,"b":2}"#)
    #expect(try payload(yaml, data: ["a": "4"], ["b": "5"]) == #"{"c":"x","a":4,"b":5}"#)
  }

  @Test("The event's times are whole seconds, alone as numbers and in texts as digits")
  func times() throws {
    #expect(
      try payload(
        """
          a: "{{event.occurred_at}}"
          b: "{{event.expires_at}}"
          c: "at {{event.occurred_at}}"
        """
      )
        == #"{"c":"at 1763712000","a":1763712000,"b":1763712900}"#)
    let prepared = try Samples.prepare("collapse_id: \"{{event.occurred_at}}\"\npayload:\n  a: b")
    #expect(prepared.headers.collapseID == "1763712000")
  }

  @Test("Where Apple takes whole numbers, others are left out")
  func whole() throws {
    let yaml = "  aps:\n    alert: x\n    badge: \"{{number data.n}}\"\n  n: \"{{number data.n}}\""
    #expect(try payload(yaml, data: ["n": "1.5"]) == #"{"aps":{"alert":"x"},"n":1.5}"#)
    #expect(try payload(yaml, data: ["n": "2"]) == #"{"aps":{"alert":"x","badge":2},"n":2}"#)
  }

  @Test("A payload that is shortened keeps its numbers")
  func shortened() throws {
    let yaml = """
      shorten: b
      payload:
        a: "{{number data.a}}"
        b: "{{recipient.name}}"
        c: "{{number recipient.c}}"
      """
    var fields = Samples.fields
    fields["data.a"] = "12"
    let prepared = try Samples.prepare(yaml, Samples.event(fields: fields))
    let preview = try prepared.preview(
      recipient: ["name": String(repeating: "n", count: 5000), "c": "0.5"])
    let json = try StrictJSON(preview.payload)
    #expect(preview.isShortened && json["a"] == .integer(12) && json["c"] == .double(0.5))
  }

  @Test(
    "A number in the wrong place is a problem",
    arguments: [
      ("payload:\n  a: \"{{number data.a}} viewers\"", "must stand alone in its quotes"),
      (
        "payload:\n  a: \"{{text.t}}\"\nlocales:\n  en:\n    t: \"{{number data.a}}\"",
        "leave 'number' out"
      ),
      ("collapse_id: \"{{number data.a}}\"\npayload:\n  a: b", "leave 'number' out"),
      ("payload:\n  a: \"{{number text.t}}\"\n", "is a text of a locale"),
      ("payload:\n  a: \"{{number data.a|x}}\"", "must be a number too, or be left out"),
      ("payload:\n  a: \"{{event.occurred_at|x}}\"", "a whole number like 1 too, or be left out"),
      ("payload:\n  a:\n    - \"{{number data.a}}\"", "a list cannot"),
      ("payload:\n  a: \"{{event.occured_at}}\"", "is not known"),
      ("payload:\n  a: \"{{number}}\"", "is no placeholder"),
      ("payload:\n  \"{{number data.a}}\": 1", "cannot have placeholders"),
    ])
  func misplaced(_ yaml: String, _ message: String) {
    let problems = Samples.problems(yaml)
    #expect(problems.count == 1 && problems[0].contains(message), "\(problems)")
  }
}
