import JSON

/// As much of JSON Schema 2020-12 as `Config/event.schema.json` and `Config/outcome.schema.json`
/// use; any other keyword is a failure.
struct SchemaChecker {
  let root: JSONValue
  private let patterns = Patterns()

  /// To make one out of its text takes longer than to match it.
  private final class Patterns { var known: [String: Regex<AnyRegexOutput>] = [:] }

  init(root: JSONValue) { self.root = root }

  private static let annotations: Set<String> = [
    "$schema", "$id", "$defs", "title", "description", "default", "format", "examples",
  ]

  func accepts(_ value: JSONValue) -> Bool { accepts(value, root) }

  private func accepts(_ value: JSONValue, _ schema: JSONValue) -> Bool {
    guard case .object(let schema) = schema else { return schema == true }
    return schema.members.allSatisfy { member in
      Self.annotations.contains(member.name)
        || accepts(value, keyword: member.name, member.value, in: schema)
    }
  }

  private func accepts(
    _ value: JSONValue, keyword: String, _ wanted: JSONValue, in schema: JSONObject
  ) -> Bool {
    switch keyword {
    case "$ref": return resolve(wanted.string ?? "").map { accepts(value, $0) } ?? false
    case "not": return !accepts(value, wanted)
    case "const": return value == wanted
    case "enum": return (wanted.array ?? []).contains(value)
    case "anyOf": return (wanted.array ?? []).contains { accepts(value, $0) }
    case "items": return value.array.map { $0.allSatisfy { accepts($0, wanted) } } ?? true
    case "contains": return value.array.map { $0.contains { accepts($0, wanted) } } ?? true
    case "minItems": return value.array.map { $0.count >= wanted.integer ?? .max } ?? true
    case "maxItems": return value.array.map { $0.count <= wanted.integer ?? -1 } ?? true
    case "type": return (wanted.array ?? [wanted]).contains { isOf(value, type: $0.string ?? "") }
    case "minimum": return number(value).map { $0 >= number(wanted) ?? .infinity } ?? true
    case "maximum": return number(value).map { $0 <= number(wanted) ?? -.infinity } ?? true
    case "maxLength":
      return value.string.map { $0.unicodeScalars.count <= wanted.integer ?? -1 } ?? true
    case "pattern": return value.string.map { matches($0, wanted.string ?? "(") } ?? true
    default:
      return value.object.map { accepts($0, keyword, wanted, in: schema) } ?? isKnown(keyword)
    }
  }

  private func accepts(
    _ object: JSONObject, _ keyword: String, _ wanted: JSONValue, in schema: JSONObject
  ) -> Bool {
    switch keyword {
    case "required":
      return (wanted.array ?? []).allSatisfy { object[$0.string ?? ""] != nil }
    case "properties":
      return (wanted.object?.members ?? []).allSatisfy { property in
        object[property.name].map { accepts($0, property.value) } ?? true
      }
    case "additionalProperties":
      return object.members.allSatisfy {
        schema["properties"]?.object?[$0.name] != nil || accepts($0.value, wanted)
      }
    case "propertyNames": return object.members.allSatisfy { accepts(.string($0.name), wanted) }
    case "maxProperties": return object.count <= wanted.integer ?? -1
    case "minProperties": return object.count >= wanted.integer ?? .max
    default: return false
    }
  }

  private func isKnown(_ keyword: String) -> Bool {
    [
      "required", "properties", "additionalProperties", "propertyNames", "maxProperties",
      "minProperties",
    ].contains(keyword)
  }

  private func resolve(_ reference: String) -> JSONValue? {
    guard reference.hasPrefix("#/") else { return nil }
    var node: JSONValue? = root
    for name in reference.dropFirst(2).split(separator: "/") { node = node?.object?[String(name)] }
    return node
  }

  private func isOf(_ value: JSONValue, type: String) -> Bool {
    switch (type, value) {
    case ("null", .null), ("boolean", .bool), ("integer", .integer), ("number", .integer),
      ("number", .double), ("string", .string), ("array", .array), ("object", .object):
      true
    default: false
    }
  }

  private func number(_ value: JSONValue) -> Double? {
    switch value {
    case .integer(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }

  private func matches(_ text: String, _ pattern: String) -> Bool {
    guard
      let regex = patterns.known[pattern]
        ?? (try? Regex(pattern).matchingSemantics(.unicodeScalar))
    else { return false }
    patterns.known[pattern] = regex
    return text.contains(regex)
  }
}
