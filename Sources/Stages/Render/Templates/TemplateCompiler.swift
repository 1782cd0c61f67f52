import Model

/// Goes through a template file, notes everything that is wrong, and builds the template when
/// nothing is.
struct TemplateCompiler {
  let findings: TemplateFindings

  init(_ source: TemplateSource) { findings = TemplateFindings(source) }

  private static let keys = [
    "push_type", "priority", "collapse_id", "stored", "shorten", "default_locale", "aliases",
    "payload",
    "locales",
  ]

  /// Nil when there are problems.
  func compile() -> Template? {
    guard case .map(let entries) = findings.source.root.value else {
      findings.report(
        findings.source.root.place,
        "a template is a map with the keys \(TemplateFindings.list(Self.keys))")
      return nil
    }
    checkName()
    let members = findings.unique(entries)
    for entry in entries where !Self.keys.contains(entry.key) {
      findings.report(
        entry.place,
        "unknown key '\(entry.key)': a template has \(TemplateFindings.list(Self.keys))")
    }
    let pushType = pushType(members["push_type"])
    let priority = priority(members["priority"])
    let isStored = boolean(members["stored"], "stored")
    let collapseID = collapseID(members["collapse_id"])
    let localesReader = LocalesReader(findings: findings)
    let locales = localesReader.read(members)
    let fields = RecipientFields(findings)
    var payloadReader = PayloadReader(findings, fields)
    let payload = payloadReader.read(
      members["payload"], shorten: members["shorten"], pushType: pushType)
    if let entry = members["payload"], case .map(let payload) = entry.value.value {
      check(
        PushDraft(
          type: pushType, priority: priority, isStored: isStored, payload: payload,
          place: entry.place))
    }
    let variants = VariantWriter(findings: findings, fields: fields)
      .variants(of: payload, in: locales, limit: pushType.maximumPayloadBytes)
    localesReader.checkUnusedTexts(of: locales, usedKeys: payloadReader.usedTextKeys)
    PlaceholderSpelling(findings: findings).check(findings.uses)
    guard findings.problems.isEmpty else { return nil }
    return Template(
      name: findings.source.name, pushType: pushType,
      priority: priority?.value ?? pushType.usualPriority,
      isStored: isStored?.value ?? pushType.isUsuallyStored,
      recipientFields: fields.names, collapseID: collapseID, table: locales.table,
      variants: variants)
  }

  private func boolean(
    _ entry: TemplateSource.Entry?, _ what: String
  ) -> (value: Bool, place: TemplateSource.Place)? {
    guard let entry else { return nil }
    if case .boolean(let value) = entry.value.value { return (value, entry.value.place) }
    findings.report(entry.value.place, "\(what) must be true or false")
    return nil
  }

  private func checkName() {
    if !TemplateName.isValid(findings.source.name) {
      findings.report(
        findings.source.root.place,
        "events cannot name the template '\(findings.source.name)': "
          + "name the file with 1…64 of a-z, 0-9 and '-'"
      )
    }
  }

  private func pushType(_ entry: TemplateSource.Entry?) -> PushType {
    guard let entry else { return .alert }
    guard let text = findings.string(entry.value, "push_type") else { return .alert }
    if let type = PushType(rawValue: text) { return type }
    findings.report(
      entry.value.place,
      "Apple has no push type '\(text)': use one of "
        + "\(TemplateFindings.list(PushType.allCases.map(\.rawValue)))"
    )
    return .alert
  }

  private func priority(
    _ entry: TemplateSource.Entry?
  ) -> (value: Int, place: TemplateSource.Place)? {
    guard let entry else { return nil }
    guard case .integer(let value) = entry.value.value, [10, 5, 1].contains(value) else {
      findings.report(
        entry.value.place,
        "priority must be 10 (at once), 5 (when power allows) or 1 (last) "
          + ApplePage.requests.reference)
      return nil
    }
    return (Int(value), entry.value.place)
  }

  /// Holds the push against what Apple asks of its type.
  private func check(_ push: PushDraft) {
    for rule in PushTypeRule.all {
      for place in rule.breaches(in: push) {
        let message = "\(rule.words) \(rule.page.reference)"
        if rule.isWarning { findings.warn(place, message) } else { findings.report(place, message) }
      }
    }
  }

  private func collapseID(_ entry: TemplateSource.Entry?) -> TemplateText? {
    guard let entry, let text = findings.string(entry.value, "collapse_id") else { return nil }
    let parsed = findings.parse(text, at: entry.value.place)
    for case .placeholder(let placeholder) in parsed.parts
    where placeholder.namespace == .recipient || placeholder.namespace == .text {
      findings.report(
        entry.value.place,
        "collapse_id is the same for all recipients: '{{\(placeholder.path)}}' cannot stand in it, "
          + "use fields of streamer, stream, data or event")
    }
    return parsed
  }

}
