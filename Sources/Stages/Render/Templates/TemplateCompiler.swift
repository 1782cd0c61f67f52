import Model

/// Goes through a template file, notes everything that is wrong, and builds the template when
/// nothing is.
struct TemplateCompiler {
  let source: TemplateSource
  var problems: [RenderError.Problem] = []
  var warnings: [RenderError.Problem] = []
  /// Profile fields in the order of their first use.
  var recipientFields = ["locale"]
  var usedTextKeys: Set<String> = []

  init(_ source: TemplateSource) { self.source = source }

  /// Objects and lists inside each other in a payload; Apple's own keys need three.
  static let maximumDepth = 16
  /// Every recipient's profile is read with one HMGET of these.
  static let maximumRecipientFields = 32

  private static let keys = [
    "push_type", "priority", "collapse_id", "stored", "shorten", "default_locale", "aliases",
    "payload",
    "locales",
  ]

  /// Nil when there are problems.
  mutating func compile() -> Template? {
    guard case .map(let entries) = source.root.value else {
      report(source.root.place, "a template is a map with the keys \(Self.list(Self.keys))")
      return nil
    }
    checkName()
    let members = unique(entries)
    for entry in entries where !Self.keys.contains(entry.key) {
      report(entry.place, "unknown key '\(entry.key)': a template has \(Self.list(Self.keys))")
    }
    let pushType = pushType(members["push_type"])
    let priority = priority(members["priority"])
    let isStored = boolean(members["stored"], "stored")
    let collapseID = collapseID(members["collapse_id"])
    let locales = locales(members)
    let payload = payload(members["payload"], shorten: members["shorten"], pushType: pushType)
    if let entry = members["payload"], case .map(let payload) = entry.value.value {
      check(
        PushDraft(
          type: pushType, priority: priority, isStored: isStored, payload: payload,
          place: entry.place))
    }
    let variants = variants(of: payload, in: locales, limit: pushType.maximumPayloadBytes)
    checkUnusedTexts(of: locales)
    guard problems.isEmpty else { return nil }
    return Template(
      name: source.name, pushType: pushType,
      priority: priority?.value ?? pushType.usualPriority,
      isStored: isStored?.value ?? pushType.isUsuallyStored,
      recipientFields: recipientFields, collapseID: collapseID, table: locales.table,
      variants: variants)
  }

  mutating func report(_ place: TemplateSource.Place, _ message: String) {
    problems.append(RenderError.Problem(file: source.file, place: place, message: message))
  }

  mutating func warn(_ place: TemplateSource.Place, _ message: String) {
    warnings.append(RenderError.Problem(file: source.file, place: place, message: message))
  }

  static func list(_ words: [String]) -> String { words.joined(separator: ", ") }

  /// The members by key; a key that stands twice is a problem.
  mutating func unique(_ entries: [TemplateSource.Entry]) -> [String: TemplateSource.Entry] {
    var members: [String: TemplateSource.Entry] = [:]
    for entry in entries {
      if let first = members[entry.key] {
        report(
          entry.place,
          "the key '\(entry.key)' stands already in line \(first.place.line): remove one")
      } else {
        members[entry.key] = entry
      }
    }
    return members
  }

  mutating func string(_ node: TemplateSource.Node, _ what: String) -> String? {
    if case .string(let text) = node.value { return text }
    report(node.place, "\(what) must be a text: put it in quotation marks")
    return nil
  }

  private mutating func boolean(
    _ entry: TemplateSource.Entry?, _ what: String
  ) -> (value: Bool, place: TemplateSource.Place)? {
    guard let entry else { return nil }
    if case .boolean(let value) = entry.value.value { return (value, entry.value.place) }
    report(entry.value.place, "\(what) must be true or false")
    return nil
  }

  private mutating func checkName() {
    let isName = source.name.utf8.allSatisfy {
      ($0 >= 0x61 && $0 <= 0x7A) || ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2D
    }
    if !isName || source.name.isEmpty || source.name.utf8.count > 64 {
      report(
        source.root.place,
        "events cannot name the template '\(source.name)': "
          + "name the file with 1…64 of a-z, 0-9 and '-'"
      )
    }
  }

  private mutating func pushType(_ entry: TemplateSource.Entry?) -> PushType {
    guard let entry else { return .alert }
    guard let text = string(entry.value, "push_type") else { return .alert }
    if let type = PushType(rawValue: text) { return type }
    report(
      entry.value.place,
      "Apple has no push type '\(text)': use one of \(Self.list(PushType.allCases.map(\.rawValue)))"
    )
    return .alert
  }

  private mutating func priority(
    _ entry: TemplateSource.Entry?
  ) -> (value: Int, place: TemplateSource.Place)? {
    guard let entry else { return nil }
    guard case .integer(let value) = entry.value.value, [10, 5, 1].contains(value) else {
      report(
        entry.value.place,
        "priority must be 10 (at once), 5 (when power allows) or 1 (last) "
          + ApplePage.requests.reference)
      return nil
    }
    return (Int(value), entry.value.place)
  }

  /// Holds the push against what Apple asks of its type.
  private mutating func check(_ push: PushDraft) {
    for rule in PushTypeRule.all {
      for place in rule.breaches(in: push) {
        let message = "\(rule.words) \(rule.page.reference)"
        if rule.isWarning { warn(place, message) } else { report(place, message) }
      }
    }
  }

  private mutating func collapseID(_ entry: TemplateSource.Entry?) -> TemplateText? {
    guard let entry, let text = string(entry.value, "collapse_id") else { return nil }
    let parsed = parse(text, at: entry.value.place)
    for case .placeholder(let placeholder) in parsed.parts
    where placeholder.namespace == .recipient || placeholder.namespace == .text {
      report(
        entry.value.place,
        "collapse_id is the same for all recipients: '{{\(placeholder.path)}}' cannot stand in it, "
          + "use fields of streamer, stream, data or event")
    }
    return parsed
  }

  /// The text taken apart, with its faults reported.
  mutating func parse(_ text: String, at place: TemplateSource.Place) -> TemplateText {
    let parsed = TemplateText(text)
    for fault in parsed.faults { report(place, fault) }
    for case .placeholder(let only) in parsed.parts where only.isNumber {
      report(
        place,
        "'{{number \(only.path)}}' must stand alone in its quotes in the payload: leave 'number' "
          + "out where it is part of a text")
    }
    return parsed
  }

  /// The index of a profile field in `recipientFields`.
  mutating func recipientField(_ name: String, at place: TemplateSource.Place) -> Int {
    if let index = recipientFields.firstIndex(of: name) { return index }
    if recipientFields.count == Self.maximumRecipientFields {
      report(
        place,
        "a template may use \(Self.maximumRecipientFields) profile fields: "
          + "'\(name)' is one too many"
      )
      return 0
    }
    recipientFields.append(name)
    return recipientFields.count - 1
  }
}
