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
  mutating func walk(
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
    return value(only, as: type, at: place)
  }

  /// A URL of https, which is left out where its value is none.
  func link(_ only: TemplateText.Placeholder, at place: TemplateSource.Place) -> TemplatePayload {
    findings.note(only, at: place)
    return value(only, as: .link, at: place)
  }

  private func value(
    _ only: TemplateText.Placeholder, as type: ValueType, at place: TemplateSource.Place
  ) -> TemplatePayload {
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
    case .json, .value, .list, .quoted, .sequence, .collapseID, .language, .direction: false
    }
  }
}

/// The payload of a template, checked once; every locale's pieces are made from it.
indirect enum TemplatePayload {
  case json([UInt8])
  case text(TemplateText, TemplateSource.Place, isShortened: Bool)
  case value(TemplateValue)
  case list([TemplatePayload])
  case map([(key: String, value: TemplatePayload)])
  /// A value with a type as the text that it comes as.
  case quoted(TemplateValue)
  /// One behind the other, as they stand.
  case sequence([TemplatePayload])
  /// Of a map alone: the fan-out's collapse id, or no such member.
  case collapseID
  /// The tag of the variant's locale.
  case language
  /// `ltr` or `rtl`, by the variant's locale.
  case direction
}

/// Looks for texts in a Live Activity's `content-state` and `attributes` that should have a type:
/// the app decodes them into a Swift struct, and where a text stands for a number or a boolean the
/// activity freezes, while Apple says 200.
struct ActivityStateCheck {
  let findings: TemplateFindings

  /// - Parameter payload: the whole of it.
  func check(_ payload: [TemplateSource.Entry]) {
    guard case .map(let aps)? = payload.first(where: { $0.key == "aps" })?.value.value else {
      return
    }
    for member in aps where ["content-state", "attributes"].contains(member.key) {
      walk(member.value, key: "", path: "aps.\(member.key)")
    }
  }

  /// As deep as `PayloadReader` lets a payload be.
  private func walk(_ node: TemplateSource.Node, key: String, path: String, depth: Int = 0) {
    guard depth < PayloadReader.maximumDepth else { return }
    switch node.value {
    case .map(let entries):
      for entry in entries {
        walk(entry.value, key: entry.key, path: "\(path).\(entry.key)", depth: depth + 1)
      }
    case .list(let nodes): for item in nodes { walk(item, key: key, path: path, depth: depth + 1) }
    case .string(let text): check(text, at: node.place, key: key, path: path)
    case .null, .boolean, .integer, .number: return
    }
  }

  private func check(_ text: String, at place: TemplateSource.Place, key: String, path: String) {
    let parsed = TemplateText(text)
    if parsed.isLiteral {
      guard let type = Self.type(ofText: text) else { return }
      return findings.warn(
        place,
        "\(path) is the text \"\(text)\", which looks like \(type.words): leave the quotation "
          + "marks out, unless the app's struct has a String there "
          + ApplePage.liveActivity.reference)
    }
    guard let only = parsed.alone, only.type == nil, only.namespace != .text,
      let type = only.fallback.flatMap(Self.type(ofText:)) ?? Self.type(named: key)
        ?? Self.type(named: only.name)
    else { return }
    let keyword = type == .boolean ? "boolean" : "integer"
    findings.warn(
      place,
      "\(path) is a text, and looks like \(type.words): write {{\(keyword) \(only.path)}}, unless "
        + "the app's struct has a String there \(ApplePage.liveActivity.reference)")
  }

  private static func type(ofText text: String) -> ValueType? {
    if ["true", "false"].contains(text) { return .boolean }
    return NumberText.isNumber(text, isWhole: false) ? .number : nil
  }

  // MARK: names

  private static let questions: Set<String> = ["is", "has", "can", "should", "was", "will"]
  private static let states: Set<String> = [
    "live", "enabled", "active", "finished", "paused", "muted", "visible",
  ]
  private static let amounts: Set<String> = [
    "count", "viewers", "followers", "listeners", "likes", "score", "points", "goals", "total",
    "number", "progress", "percent", "percentage", "rank", "level", "seconds", "minutes",
    "duration", "elapsed", "remaining", "timestamp", "price", "amount",
  ]

  /// The usual type of a member with such a name: `isLive`, `viewer_count`, `startedAt`.
  private static func type(named name: String) -> ValueType? {
    let words = words(of: name)
    guard let first = words.first, let last = words.last else { return nil }
    if words.count > 1, questions.contains(first) { return .boolean }
    if states.contains(last) { return .boolean }
    if amounts.contains(last) || (words.count > 1 && last == "at") { return .integer }
    return nil
  }

  private static func words(of name: String) -> [String] {
    var words: [String] = [""]
    for character in name {
      if character == "_" || character == "-" {
        words.append("")
      } else {
        if character.isUppercase, words.last?.last?.isLowercase == true { words.append("") }
        words[words.count - 1] += character.lowercased()
      }
    }
    return words.filter { !$0.isEmpty }
  }
}
