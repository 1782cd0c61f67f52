import Model

/// Reads a template's payload, and notes which texts and profile fields it names.
struct PayloadReader {
  /// Objects and lists inside each other in a payload; Apple's own keys need three.
  static let maximumDepth = 16

  let findings: TemplateFindings
  let fields: RecipientFields
  private(set) var usedTextKeys: Set<String> = []

  init(_ findings: TemplateFindings, _ fields: RecipientFields) {
    self.findings = findings
    self.fields = fields
  }

  mutating func read(
    _ entry: TemplateSource.Entry?, shorten: TemplateSource.Entry?, pushType: PushType
  ) -> TemplatePayload {
    guard let entry else {
      findings.report(
        findings.source.root.place, "the payload is missing: add 'payload:' with an 'aps' map in it"
      )
      return .map([])
    }
    guard case .map(let members) = entry.value.value, !members.isEmpty else {
      findings.report(
        entry.value.place, "the payload must be a map with something in it, 'aps' above all")
      return .map([])
    }
    ApplePayloadCheck(findings: findings).check(members, at: entry.place, of: pushType)
    ActivityStateCheck(findings: findings).check(members)
    var path: [String]?
    if let shorten, let text = findings.string(shorten.value, "shorten") {
      path = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }
    let payload = walk(entry.value, shorten: path, path: [])
    if let shorten, path != nil, !Self.hasShortened(payload) {
      findings.report(
        shorten.value.place,
        "shorten must name a text in the payload by its keys, like aps.alert.body: "
          + "there is none there"
      )
    }
    return payload
  }

  /// `shorten`: the keys that lead from here to the text that may be shortened; `path`: those that
  /// led here.
  private mutating func walk(
    _ node: TemplateSource.Node, shorten: [String]?, path: [String]
  ) -> TemplatePayload {
    guard path.count < Self.maximumDepth else {
      findings.report(node.place, "a payload may be \(Self.maximumDepth) levels deep: flatten it")
      return .map([])
    }
    switch node.value {
    case .null: return .json(Array("null".utf8))
    case .boolean(let value): return .json(Array((value ? "true" : "false").utf8))
    case .integer(let value): return .json(Array(String(value).utf8))
    case .number(let value):
      guard value.isFinite else {
        findings.report(
          node.place, "JSON has no infinite or undefined number: write a finite one or a text")
        return .json([])
      }
      return .json(Array(value.description.utf8))
    case .string(let text):
      let isShortened = shorten?.isEmpty == true
      return typed(text, at: node.place, path: path)
        ?? self.text(text, at: node.place, isShortened: isShortened)
    case .list(let nodes):
      var items: [TemplatePayload] = []
      for item in nodes {
        let value = walk(item, shorten: nil, path: path + [""])
        if case .value = value {
          findings.report(
            item.place, "a value with a type may be left out, which a list cannot: use a map")
        }
        items.append(value)
      }
      return .list(items)
    case .map(let entries):
      _ = findings.unique(entries)
      var members: [(key: String, value: TemplatePayload)] = []
      for entry in entries {
        if !TemplateText(entry.key).isLiteral {
          findings.report(
            entry.place, "the key '\(entry.key)' cannot have placeholders: only values can")
        }
        let next = shorten.flatMap { $0.first == entry.key ? Array($0.dropFirst()) : nil }
        members.append((entry.key, walk(entry.value, shorten: next, path: path + [entry.key])))
      }
      return .map(members)
    }
  }

  private mutating func text(
    _ text: String, at place: TemplateSource.Place, isShortened: Bool
  ) -> TemplatePayload {
    let parsed = findings.parse(text, at: place)
    for case .placeholder(let placeholder) in parsed.parts {
      if placeholder.namespace == .text { usedTextKeys.insert(placeholder.name) }
    }
    return .text(parsed, place, isShortened: isShortened)
  }

  /// Nil for a text.
  private func typed(
    _ text: String, at place: TemplateSource.Place, path: [String]
  ) -> TemplatePayload? {
    guard let only = TemplateText(text).typed, var type = only.type else { return nil }
    findings.note(only, at: place)
    let keyword = only.keyword?.rawValue ?? ""
    guard only.namespace != .text else {
      findings.report(
        place, "'{{\(keyword) \(only.path)}}' is a text of a locale: leave '\(keyword)' out")
      return .json([])
    }
    guard only.namespace != .recipient || type != .json else {
      findings.report(
        place, "'{{json \(only.path)}}' is of the profile, which has texts: json is for an event's")
      return .json([])
    }
    if type == .number, ApplePayloadCheck.isWhole(path) { type = .wholeNumber }
    let fallback = only.fallback.flatMap { type.written($0) }
    if only.fallback != nil, fallback == nil {
      findings.report(
        place, "the fallback of '{{\(only.path)}}' must be \(type.words) too, or be left out")
    }
    let source: TemplateValue.Source =
      only.namespace == .recipient
      ? .recipient(field: fields.index(of: only.name, at: place)) : .event(path: only.path)
    return .value(TemplateValue(source: source, type: type, fallback: fallback))
  }

  private static func hasShortened(_ payload: TemplatePayload) -> Bool {
    switch payload {
    case .text(_, _, let isShortened): isShortened
    case .map(let members): members.contains { hasShortened($0.value) }
    case .json, .value, .list: false
    }
  }
}
