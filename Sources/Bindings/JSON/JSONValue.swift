/// One JSON value, owned by Swift: nothing of jansson is left in it.
package enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  /// A number that was written without fraction and exponent.
  case integer(Int64)
  /// A number that was written with a fraction or an exponent; always finite when it was parsed.
  case double(Double)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)

  package var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  package var integer: Int64? {
    if case .integer(let number) = self { number } else { nil }
  }

  /// Of an integer, however it was written: JSON Schema takes `5.0` for one.
  package var wholeNumber: Int64? {
    switch self {
    case .integer(let number): number
    case .double(let number): Int64(exactly: number)
    default: nil
    }
  }

  package var bool: Bool? {
    if case .bool(let flag) = self { flag } else { nil }
  }

  package var array: [JSONValue]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  package var object: JSONObject? {
    if case .object(let object) = self { object } else { nil }
  }

  package var isNull: Bool { self == .null }

  /// The name of this kind in error messages: "a string", "an object", …
  package var kindName: String {
    switch self {
    case .null: "null"
    case .bool: "a boolean"
    case .integer: "an integer"
    case .double: "a number with a fraction"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(floatLiteral value: Double) { self = .double(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(nilLiteral: ()) { self = .null }
  package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  package init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(JSONObject(elements))
  }
}
