import Settings
import Terminal
import Text

/// A JSON Schema (draft 2020-12) of the configuration file, made from the table of settings, for
/// editors and for checks before a rollout. It is a little stricter than the program: an unknown
/// key, which is a warning there, and a number in quotes do not pass.
package enum ConfigurationSchema {
  package static let json: JSONOutput = {
    var root = Group()
    for key in SettingTable.keys {
      root.add(key, at: key.path.split(separator: ".").map(String.init)[...])
    }
    guard case .object(var object) = root.json(path: "") else { return nil }
    object["title"] = "The configuration of Fanfare"
    var whole: JSONObject = ["$schema": "https://json-schema.org/draft/2020-12/schema"]
    for member in object.members { whole[member.name] = member.value }
    return .object(whole)
  }()

  /// A mapping of keys, in their order.
  private struct Group {
    private var keys: [(name: String, key: SettingKey)] = []
    private var groups: [(name: String, group: Group)] = []

    mutating func add(_ key: SettingKey, at path: ArraySlice<String>) {
      guard let name = path.first else { return }
      guard path.count > 1 else { return keys.append((name, key)) }
      let place = groups.firstIndex { $0.name == name } ?? groups.count
      if place == groups.count { groups.append((name, Group())) }
      groups[place].group.add(key, at: path.dropFirst())
    }

    func json(path: String) -> JSONOutput {
      var properties = JSONObject()
      for (name, key) in keys { properties[name] = ConfigurationSchema.json(key) }
      for (name, group) in groups {
        properties[name] = group.json(path: path.isEmpty ? name : "\(path).\(name)")
      }
      var object: JSONObject = ["type": ["object", "null"]]
      if let explanation = SettingTable.groupExplanations[path] {
        object["description"] = .text(explanation)
      }
      object["properties"] = .object(properties)
      object["additionalProperties"] = false
      return .object(object)
    }
  }

  private static func json(_ key: SettingKey) -> JSONOutput {
    var object: JSONObject = [
      "description": .text("\(key.explanation) It is \(key.kind.summary).")
    ]
    if let value = key.defaultValue { object["default"] = json(value, of: key.kind) }
    for member in rules(key.kind).members { object[member.name] = member.value }
    return .object(object)
  }

  /// Nothing (`null`) is as good as leaving a key out. A text may look like a number in YAML.
  private static func rules(_ kind: SettingKind) -> JSONObject {
    switch kind {
    case .text(let rule):
      ["type": ["string", "number", "null"], "maxLength": .integer(rule.maximumBytes)]
    case .secret: ["type": ["string", "number", "null"], "maxLength": 4_096]
    case .path, .secretFile: ["type": ["string", "null"], "maxLength": 4_095]
    case .bool: ["type": ["boolean", "null"]]
    case .choice(let names): ["enum": .array(names.flatMap(choices) + [nil])]
    case .integer(let range):
      [
        "type": ["integer", "null"], "minimum": .integer(range.lowerBound),
        "maximum": .integer(range.upperBound),
      ]
    case .size(let range):
      [
        "type": ["string", "integer", "null"], "pattern": "^[0-9]+(B|KiB|MiB|GiB)?$",
        "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound),
      ]
    case .duration:
      [
        "type": ["string", "integer", "null"],
        "pattern": #"^(0|([0-9]*\.?[0-9]+(ms|us|d|h|m|s))+)$"#, "minimum": 0, "maximum": 0,
      ]
    case .list(let rule):
      [
        "type": ["array", "string", "null"], "minItems": 1,
        "items": ["type": ["string", "number"], "maxLength": .integer(rule.maximumBytes)],
      ]
    case .map:
      ["type": ["object", "string", "null"], "additionalProperties": .object(anyScalar)]
    case .records(let fields):
      [
        "type": ["object", "string", "null"],
        "additionalProperties": ["anyOf": [record(fields), .object(anyScalar)]],
      ]
    }
  }

  private static let anyScalar: JSONObject = ["type": ["string", "number", "boolean"]]

  private static func record(_ fields: [String: SettingKind]) -> JSONOutput {
    let properties = fields.sorted { $0.key < $1.key }.map { name, kind in
      (name: name, value: JSONOutput.object(rules(kind)))
    }
    return [
      "type": "object", "properties": .object(JSONObject(unique: properties)),
      "additionalProperties": false,
    ]
  }

  /// YAML reads `true` and `false` without quotes as no texts.
  private static func choices(_ name: String) -> [JSONOutput] {
    ["true", "false"].contains(name) ? [.bool(name == "true"), .text(name)] : [.text(name)]
  }

  private static func json(_ value: SettingValue, of kind: SettingKind) -> JSONOutput {
    switch value {
    case .text(let text): .text(text)
    case .integer(let number):
      if case .size = kind { .text(SizeText.text(number)) } else { .integer(number) }
    case .duration(let duration): .text(DurationText.text(duration))
    case .bool(let flag): .bool(flag)
    case .list(let items): .array(items.map { .text($0) })
    case .map(let entries):
      .object(
        JSONObject(
          unique: entries.sorted { $0.key < $1.key }.map { (name: $0, value: .text($1)) }))
    }
  }
}
