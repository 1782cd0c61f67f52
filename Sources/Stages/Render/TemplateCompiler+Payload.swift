import Model

/// The payload of a template, checked once; every locale's pieces are made from it.
indirect enum TemplatePayload {
  case json([UInt8])
  case text(TemplateText, TemplateSource.Place, isShortened: Bool)
  case number(field: Int, fallback: [UInt8]?)
  case list([TemplatePayload])
  case map([(key: String, value: TemplatePayload)])
}

extension TemplateCompiler {
  mutating func payload(
    _ entry: TemplateSource.Entry?, shorten: TemplateSource.Entry?, pushType: PushType
  ) -> TemplatePayload {
    guard let entry else {
      report(source.root.place, "the payload is missing: add 'payload:' with an 'aps' map in it")
      return .map([])
    }
    guard case .map(let members) = entry.value.value, !members.isEmpty else {
      report(entry.value.place, "the payload must be a map with something in it, 'aps' above all")
      return .map([])
    }
    if pushType == .background { checkBackground(members, entry.place) }
    checkApplePart(of: members, at: entry.place, pushType)
    var path: [String]?
    if let shorten, let text = string(shorten.value, "shorten") {
      path = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }
    let payload = walk(entry.value, shorten: path, depth: 0)
    if let shorten, path != nil, !Self.hasShortened(payload) {
      report(
        shorten.value.place,
        "shorten must name a text in the payload by its keys, like aps.alert.body: "
          + "there is none there"
      )
    }
    return payload
  }

  /// Apple, "Pushing background updates to your App": content-available and nothing that is shown
  /// or heard.
  private mutating func checkBackground(
    _ members: [TemplateSource.Entry], _ place: TemplateSource.Place
  ) {
    let aps = members.first { $0.key == "aps" }
    guard let aps, case .map(let entries) = aps.value.value else {
      report(place, "a background push needs 'aps: { content-available: 1 }' in its payload")
      return
    }
    if entries.first(where: { $0.key == "content-available" })?.value.value != .integer(1) {
      report(aps.place, "a background push needs 'content-available: 1' in aps")
    }
    for entry in entries where ["alert", "sound", "badge"].contains(entry.key) {
      report(
        entry.place,
        "a background push shows nothing: remove '\(entry.key)' from aps, or set push_type to alert"
      )
    }
  }

  /// `shorten`: the keys that lead from here to the text that may be shortened.
  private mutating func walk(
    _ node: TemplateSource.Node, shorten: [String]?, depth: Int
  ) -> TemplatePayload {
    guard depth < Self.maximumDepth else {
      report(node.place, "a payload may be \(Self.maximumDepth) levels deep: flatten it")
      return .map([])
    }
    switch node.value {
    case .null: return .json(Array("null".utf8))
    case .boolean(let value): return .json(Array((value ? "true" : "false").utf8))
    case .integer(let value): return .json(Array(String(value).utf8))
    case .number(let value):
      guard value.isFinite else {
        report(node.place, "JSON has no infinite or undefined number: write a finite one or a text")
        return .json([])
      }
      return .json(Array(value.description.utf8))
    case .string(let text):
      return self.text(text, at: node.place, isShortened: shorten?.isEmpty == true)
    case .list(let nodes):
      var items: [TemplatePayload] = []
      for item in nodes {
        let value = walk(item, shorten: nil, depth: depth + 1)
        if case .number = value {
          report(
            item.place,
            "{{recipient.badge}} alone is a number and may be left out, which a list "
              + "cannot: use a map"
          )
        }
        items.append(value)
      }
      return .list(items)
    case .map(let entries):
      _ = unique(entries)
      var members: [(key: String, value: TemplatePayload)] = []
      for entry in entries {
        if !TemplateText(entry.key).isLiteral {
          report(entry.place, "the key '\(entry.key)' cannot have placeholders: only values can")
        }
        let next = shorten.flatMap { $0.first == entry.key ? Array($0.dropFirst()) : nil }
        members.append((entry.key, walk(entry.value, shorten: next, depth: depth + 1)))
      }
      return .map(members)
    }
  }

  private mutating func text(
    _ text: String, at place: TemplateSource.Place, isShortened: Bool
  ) -> TemplatePayload {
    let parsed = parse(text, at: place)
    for case .placeholder(let placeholder) in parsed.parts {
      if placeholder.namespace == .text { usedTextKeys.insert(placeholder.name) }
    }
    if parsed.parts.count == 1, case .placeholder(let only) = parsed.parts[0],
      only.namespace == .recipient, only.name == "badge"
    {
      let fallback = only.fallback.map { Array($0.utf8) }
      if let fallback, !fallback.withUnsafeBytes({ IntegerText.isInteger($0) }) {
        report(place, "the fallback of a badge must be an integer like 1, or be left out")
      }
      return .number(field: recipientField("badge", at: place), fallback: fallback)
    }
    return .text(parsed, place, isShortened: isShortened)
  }

  private static func hasShortened(_ payload: TemplatePayload) -> Bool {
    switch payload {
    case .text(_, _, let isShortened): isShortened
    case .map(let members): members.contains { hasShortened($0.value) }
    case .json, .number, .list: false
    }
  }
}

extension TemplateText {
  var isLiteral: Bool {
    faults.isEmpty
      && parts.allSatisfy {
        if case .literal = $0 { true } else { false }
      }
  }
}
