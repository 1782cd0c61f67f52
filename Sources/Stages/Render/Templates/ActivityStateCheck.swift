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

  private func check(
    _ text: String, at place: TemplateSource.Place, key: String, path: String
  ) {
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

  /// What a member of such a name usually is: `isLive`, `viewer_count`, `startedAt`.
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
