import Model

/// A template, checked and taken apart: one list of pieces per locale, in which only values are
/// missing.
package struct Template: Sendable {
  package let name: String
  package let pushType: PushType
  /// 10, 5 or 1.
  package let priority: Int
  /// False: Apple tries once and does not store (`apns-expiration: 0`).
  package let isStored: Bool
  /// As the template spells them.
  package var locales: [String] { table.names }
  var defaultLocale: String { table.names[table.defaultIndex] }
  /// The profile fields that rendering reads; `locale` first.
  package let recipientFields: [String]

  let collapseID: TemplateText?
  /// Of messages to browsers; nil: as the priority says.
  let urgency: PushUrgency?
  let table: LocaleTable
  /// By platform, Apple's first.
  let payloads: [Payload]
  /// Texts that a locale lacks and takes from another one, in the order of the locales.
  package let borrowedTexts: [BorrowedText]
  /// Parts that are allowed and look like mistakes, in the order of the file.
  package private(set) var warnings: [RenderError.Problem] = []

  /// What devices of one platform get.
  struct Payload: Sendable {
    let platform: Platform
    /// Bytes of a rendered payload at most.
    let limit: Int
    /// One per locale.
    let variants: [[Piece]]
  }

  /// A stretch of the payload.
  enum Piece: Equatable, Sendable {
    /// JSON as it stands.
    case literal([UInt8])
    /// The template's own text inside a JSON string, not yet escaped.
    case text(String)
    /// A field of the event, by its dotted path, inside a JSON string.
    case event(path: String, fallback: String)
    /// A field of the profile, by its index in `recipientFields`, inside a JSON string.
    case recipient(field: Int, fallback: String)
    /// A whole member of an object whose value has a type; left out where the value has not. A
    /// comma goes before it unless it is the object's first. `key` is JSON, colon included.
    case value(key: [UInt8], TemplateValue)
    /// A member of an object with the fan-out's collapse id; left out where it has none.
    case collapseID(key: [UInt8])
    /// Around the inside of the string that may be shortened; at most one pair.
    case shortenedBegin
    case shortenedEnd
  }

  /// Checks a template file and compiles it. Throws `invalidTemplate` with all that is wrong with
  /// it.
  package static func compile(_ source: TemplateSource) throws(RenderError) -> Template {
    let compiler = TemplateCompiler(source)
    if var template = compiler.compile() {
      template.warnings = compiler.findings.warnings.sorted { $0.place < $1.place }
      return template
    }
    let problems = compiler.findings.problems.sorted { $0.place < $1.place }
    throw RenderError(
      .invalidTemplate,
      "the template \(source.file) cannot be used: \(problems.count) "
        + (problems.count == 1 ? "problem" : "problems"),
      problems: problems)
  }
}

extension Template {
  /// Values of an event that the template gives a type which they do not have, in words: their
  /// fallback stands there, or their key is left out.
  package func mistypedValues(of event: Event) -> [String] {
    distinct { piece in
      guard case .value(_, let value) = piece, case .event(let path) = value.source else {
        return nil
      }
      let text = event.value(of: path)
      guard !text.isEmpty, value.type.written(text) == nil else { return nil }
      let instead = value.fallback == nil ? "its key is left out" : "its fallback stands there"
      return "\(path) is not \(value.type.words): \(instead)"
    }
  }

  /// Values without a fallback that the event does not have, in words: nothing stands there.
  package func missingValues(of event: Event) -> [String] {
    distinct { piece in
      switch piece {
      case .event(let path, let fallback) where fallback.isEmpty && event.value(of: path).isEmpty:
        return "the event has no \(path), and it has no fallback: nothing stands there"
      case .value:
        guard let path = Self.absentValue(piece, of: event) else { return nil }
        return "the event has no \(path), and it has no fallback: its key is left out"
      default: return nil
      }
    }
  }

  /// Paths of the values with a type and without a fallback that the event does not have: every
  /// payload lacks their keys.
  package func absentValues(of event: Event) -> [String] {
    distinct { Self.absentValue($0, of: event) }
  }

  private static func absentValue(_ piece: Piece, of event: Event) -> String? {
    guard case .value(_, let value) = piece, value.fallback == nil,
      case .event(let path) = value.source, event.value(of: path).isEmpty
    else { return nil }
    return path
  }

  private func distinct(_ words: (Piece) -> String?) -> [String] {
    var found: [String] = []
    // The others are made of Apple's.
    for piece in payloads[0].variants.joined() {
      if let words = words(piece), !found.contains(words) { found.append(words) }
    }
    return found
  }
}

/// Goes through a template file, notes everything that is wrong, and builds the template when
/// nothing is.
struct TemplateCompiler {
  let findings: TemplateFindings

  init(_ source: TemplateSource) { findings = TemplateFindings(source) }

  private static let keys = [
    "push_type", "priority", "collapse_id", "stored", "shorten", "default_locale", "aliases",
    "payload", "fcm", "webpush", "locales",
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
    let fcm = FCMPayload(
      apple: ApplePayloadParts(payload), pushType: pushType,
      priority: priority?.value ?? pushType.usualPriority, findings: findings)
    let tail = fcm.tail(members["fcm"], &payloadReader)
    let webpush = WebPushPayload(
      apple: ApplePayloadParts(payload), pushType: pushType,
      hasLocales: !locales.locales.isEmpty, hasCollapseID: collapseID != nil, findings: findings)
    let message = webpush.message(members["webpush"], &payloadReader)
    let writer = VariantWriter(findings: findings, fields: fields)
    let limit = pushType.maximumPayloadBytes
    var payloads = [
      Template.Payload(
        platform: .apns, limit: limit,
        variants: writer.variants(of: payload, in: locales, limit: limit))
    ]
    // What is wrong with Apple's payload need not be said of the others again.
    if let tail, findings.problems.isEmpty { payloads.append(fcm.payload(tail, locales, writer)) }
    if let message, findings.problems.isEmpty {
      payloads.append(webpush.payload(message, members["webpush"], locales, writer))
    }
    localesReader.checkUnusedTexts(of: locales, usedKeys: payloadReader.usedTextKeys)
    PlaceholderSpelling(findings: findings).check(findings.uses)
    guard findings.problems.isEmpty else { return nil }
    return Template(
      name: findings.source.name, pushType: pushType,
      priority: priority?.value ?? pushType.usualPriority,
      isStored: isStored?.value ?? pushType.isUsuallyStored,
      recipientFields: fields.names, collapseID: collapseID, urgency: message?.urgency,
      table: locales.table, payloads: payloads,
      borrowedTexts: locales.borrowedTexts(payloadReader.usedTextKeys.sorted()))
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

/// The profile fields that a template names, in the order of their first use. Confined to one
/// compilation, whose parts share it.
final class RecipientFields {
  /// Every recipient's profile is read with one HMGET of these.
  static let maximum = 32

  private(set) var names = ["locale"]
  private let findings: TemplateFindings

  init(_ findings: TemplateFindings) { self.findings = findings }

  /// The place of a field in `names`; one too many is reported.
  func index(of name: String, at place: TemplateSource.Place) -> Int {
    if let index = names.firstIndex(of: name) { return index }
    if names.count == Self.maximum {
      findings.report(
        place, "a template may use \(Self.maximum) profile fields: '\(name)' is one too many")
      return 0
    }
    names.append(name)
    return names.count - 1
  }
}
