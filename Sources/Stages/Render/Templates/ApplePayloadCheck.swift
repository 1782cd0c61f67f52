import Model

/// The keys that Apple takes in `aps` ("Generating a remote notification", "Payload key
/// reference"): an unknown key is passed over by the device, a wrong type or value makes it pass
/// over the push.
struct ApplePayloadCheck {
  let findings: TemplateFindings

  private indirect enum Rule {
    case text
    /// In a Live Activity's alert, a map with loc-key and loc-args too.
    case words
    case oneOf([String])
    case texts
    case map
    case boolean
    case flag
    /// From 0.
    case count
    case number(ClosedRange<Double>)
    case alert
    case sound
  }

  private static let keys: [(name: String, rule: Rule)] = [
    ("alert", .alert), ("badge", .count), ("sound", .sound), ("thread-id", .text),
    ("category", .text), ("content-available", .flag), ("mutable-content", .flag),
    ("target-content-id", .text),
    ("interruption-level", .oneOf(["passive", "active", "time-sensitive", "critical"])),
    ("relevance-score", .number(0...1)), ("filter-criteria", .text), ("stale-date", .count),
    ("content-state", .map), ("timestamp", .count), ("event", .oneOf(["start", "update", "end"])),
    ("dismissal-date", .count), ("attributes-type", .text), ("attributes", .map),
    ("input-push-channel", .text), ("input-push-token", .flag), ("content-changed", .boolean),
    ("url-args", .texts),
  ]

  private static let alertKeys: [(name: String, rule: Rule)] = [
    ("title", .words), ("subtitle", .text), ("body", .words), ("launch-image", .text),
    ("title-loc-key", .text), ("title-loc-args", .texts), ("subtitle-loc-key", .text),
    ("subtitle-loc-args", .texts), ("loc-key", .text), ("loc-args", .texts),
    ("action-loc-key", .text), ("action", .text), ("sound", .text), ("summary-arg", .text),
    ("summary-arg-count", .count),
  ]

  private static let soundKeys: [(name: String, rule: Rule)] = [
    ("critical", .flag), ("name", .text), ("volume", .number(0...1)),
  ]

  /// - Parameter payload: the whole of it; what stands beside `aps` is the app's own.
  func check(
    _ payload: [TemplateSource.Entry], at place: TemplateSource.Place, of pushType: PushType
  ) {
    guard let entry = payload.first(where: { $0.key == "aps" }) else {
      if pushType == .alert {
        findings.warn(place, "the payload has no 'aps': the device would show nothing")
      }
      return
    }
    guard case .map(let entries) = entry.value.value else {
      findings.report(entry.value.place, "aps must be a map, such as aps: { alert: hello }")
      return
    }
    for member in entries {
      // In a Live Activity the score may be any number.
      if member.key == "relevance-score", pushType == .liveactivity {
        check(member.value, "aps.relevance-score", .number(-.infinity ... .infinity))
      } else {
        check(member, in: "aps", Self.keys)
      }
    }
  }

  /// Of the keys in `aps`.
  static func isKnownToApple(_ key: String) -> Bool { keys.contains { $0.name == key } }

  /// Whether Apple takes whole numbers alone at the end of these keys.
  static func isWhole(_ path: [String]) -> Bool {
    guard path.count == 2, path[0] == "aps",
      let key = keys.first(where: { $0.name == path[1] }), case .count = key.rule
    else { return false }
    return true
  }

  private func check(
    _ member: TemplateSource.Entry, in parent: String, _ known: [(name: String, rule: Rule)]
  ) {
    let path = "\(parent).\(member.key)"
    if let key = known.first(where: { $0.name == member.key }) {
      check(member.value, path, key.rule)
      return
    }
    let names = known.map(\.name)
    let near = Self.nearest(to: member.key, among: names).map { "; did you mean '\($0)'?" } ?? ""
    findings.warn(
      member.place,
      "Apple knows no key '\(path)', the device passes over it\(near) "
        + ApplePage.payload.reference
    )
  }

  private func check(_ node: TemplateSource.Node, _ path: String, _ rule: Rule) {
    if let wanted = complaint(about: node.value, rule) {
      findings.report(node.place, "\(path) must be \(wanted) \(ApplePage.payload.reference)")
      return
    }
    guard case .map(let entries) = node.value else { return }
    switch rule {
    case .alert: for entry in entries { check(entry, in: path, Self.alertKeys) }
    case .sound: for entry in entries { check(entry, in: path, Self.soundKeys) }
    default: return
    }
  }

  /// The rule that the value breaks; nil where it keeps it.
  private func complaint(about value: TemplateSource.Value, _ rule: Rule) -> String? {
    switch (rule, value) {
    case (.text, .string), (.words, .string), (.words, .map), (.map, .map), (.boolean, .boolean),
      (.alert, .string), (.alert, .map),
      (.sound, .string), (.sound, .map), (.flag, .integer(0)), (.flag, .integer(1)):
      return nil
    case (.oneOf(let names), .string(let text)):
      if names.contains(text) || !TemplateText(text).isLiteral { return nil }
      return "one of \(TemplateFindings.list(names))"
    case (.oneOf(let names), _): return "one of \(TemplateFindings.list(names))"
    case (.texts, .list(let nodes)):
      let areTexts = nodes.allSatisfy { if case .string = $0.value { true } else { false } }
      return areTexts ? nil : "a list of texts"
    case (.count, .integer(let number)) where number >= 0: return nil
    case (.count, .string(let text)) where Self.isTyped(text, [.number, .wholeNumber, .integer]):
      return nil
    case (.number, .string(let text)) where Self.isTyped(text, [.number, .integer]): return nil
    case (.boolean, .string(let text)) where Self.isTyped(text, [.boolean]): return nil
    case (.map, .string(let text)) where Self.isTyped(text, [.json]): return nil
    case (.count, _):
      return "a whole number from 0, without quotation marks, or a value like {{number data.x}}: "
        + "texts are not taken"
    case (.number(let range), .integer(let number)) where range.contains(Double(number)):
      return nil
    case (.number(let range), .number(let number)) where range.contains(number): return nil
    case (.number(let range), _):
      return range.upperBound.isFinite ? "a number, 0 to 1" : "a number"
    case (.text, _), (.words, _): return "a text: put it in quotation marks"
    case (.texts, _): return "a list of texts"
    case (.map, _): return "a map, or a value like {{json data.x}}"
    case (.boolean, _): return "true or false, or a value like {{boolean data.x}}"
    case (.flag, _): return "1 or 0, a number"
    case (.alert, _): return "a text, or a map with title and body"
    case (.sound, _): return "a text, or a map with critical, name and volume"
    }
  }

  private static func isTyped(_ text: String, _ types: [ValueType]) -> Bool {
    TemplateText(text).typed?.type.map { types.contains($0) } ?? false
  }

  /// The key that is the same but for case, `_`, `-` and an `s` at the end.
  private static func nearest(to key: String, among names: [String]) -> String? {
    func plain(_ name: String) -> String {
      let letters = name.lowercased().filter { $0 != "-" && $0 != "_" }
      return letters.hasSuffix("s") ? String(letters.dropLast()) : letters
    }
    return names.first { plain($0) == plain(key) }
  }
}
