import Text

/// A value that `--json` prints. Members keep the order in which they were written, so that people
/// can read what scripts parse. Written here because the strict parser's library is for reading
/// and sorts nothing.
package indirect enum JSONOutput: Sendable, Equatable {
  case null
  case bool(Bool)
  case integer(Int)
  /// Rounded to at most `digits` (0…9) after the point; what is no number becomes null.
  case number(Double, digits: Int = 3)
  /// A number of JSON as it was written.
  case digits(String)
  case text(String)
  case array([JSONOutput])
  case object(JSONObject)

  /// One line, or indented by two spaces; without a line break at the end.
  package func serialized(indented: Bool = false) -> String {
    var writer = JSONWriter(indented: indented)
    writer.write(self)
    return writer.text
  }
}

/// Members keep their order.
package typealias JSONObject = NamedValues<JSONOutput>

extension JSONOutput: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(stringLiteral value: String) { self = .text(value) }
  package init(integerLiteral value: Int) { self = .integer(value) }
  package init(floatLiteral value: Double) { self = .number(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(nilLiteral: ()) { self = .null }
  package init(arrayLiteral elements: JSONOutput...) { self = .array(elements) }
  package init(dictionaryLiteral elements: (String, JSONOutput)...) {
    var object = JSONObject()
    for (name, value) in elements { object[name] = value }
    self = .object(object)
  }
}
