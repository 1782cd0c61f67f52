import JSON
import Model

/// Holds a payload that somebody sends as it is against the rules of `Template.compile`: it is no
/// template, and has no texts of its own.
package enum PayloadRules {
  /// The payload is one text for whoever sends it: where in it a member stands is nowhere.
  private static let place = TemplateSource.Place(line: 1, column: 1)

  /// In words; empty for one that breaks no rule, or is no JSON object.
  package static func complaints(about payload: String, of headers: PushHeaders) -> [String] {
    guard let object = (try? JSONValue.parse(Array(payload.utf8)))?.object else { return [] }
    let members = entries(object)
    let type = headers.pushType
    let source = TemplateSource(name: "", file: "", root: .init(.map(members), place))
    let findings = TemplateFindings(source)
    ApplePayloadCheck(findings: findings).check(members, at: place, of: type)
    let draft = PushDraft(
      type: type, priority: (headers.priority, place), isStored: (headers.expiration != 0, place),
      payload: members, place: place)
    let broken = PushTypeRule.all.filter { !$0.breaches(in: draft).isEmpty }
    return (findings.problems + findings.warnings).map(\.message)
      + broken.map { "\($0.words) \($0.page.reference)" }
  }

  private static func entries(_ object: JSONObject) -> [TemplateSource.Entry] {
    object.members.map { .init(key: $0.name, place: place, value: .init(value($0.value), place)) }
  }

  private static func value(_ json: JSONValue) -> TemplateSource.Value {
    switch json {
    case .null: .null
    case .bool(let value): .boolean(value)
    case .integer(let value): .integer(value)
    case .double(let value): .number(value)
    // Nothing is put in the place of these here: the device would get them as they are.
    case .string(let text): .string(text.replacing("{{", with: "{ {"))
    case .array(let values): .list(values.map { .init(value($0), place) })
    case .object(let object): .map(entries(object))
    }
  }
}
