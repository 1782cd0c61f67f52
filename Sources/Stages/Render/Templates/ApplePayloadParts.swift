/// The parts of Apple's payload that the messages of other platforms are made of.
struct ApplePayloadParts {
  private let payload: TemplatePayload

  init(_ payload: TemplatePayload) { self.payload = payload }

  /// The members of `aps`.
  var aps: TemplatePayload.Members {
    payload.members.first { $0.key == "aps" }?.value.members ?? []
  }

  /// The alert's `title` and `body`, as far as they are texts; an alert that is a text is a body.
  var alert: TemplatePayload.Members {
    guard let alert = aps.first(where: { $0.key == "alert" })?.value else { return [] }
    if case .text = alert { return [("body", alert)] }
    return alert.members.filter { member in
      guard case .text = member.value else { return false }
      return member.key == "title" || member.key == "body"
    }
  }

  /// The app's own keys, beside `aps`.
  var customKeys: TemplatePayload.Members { payload.members.filter { $0.key != "aps" } }
}

extension TemplatePayload {
  typealias Members = [(key: String, value: TemplatePayload)]

  /// None where it is no map.
  var members: Members { if case .map(let members) = self { members } else { [] } }

  /// The same with no text that may be shortened: a payload has at most one.
  var unshortened: TemplatePayload {
    switch self {
    case .text(let text, let place, _): .text(text, place, isShortened: false)
    case .map(let members): .map(members.map { ($0.key, $0.value.unshortened) })
    case .list(let items): .list(items.map(\.unshortened))
    case .sequence(let parts): .sequence(parts.map(\.unshortened))
    case .json, .value, .quoted, .collapseID, .language, .direction: self
    }
  }
}

extension TemplateFindings {
  /// The members of a section for one platform; none where it is missing or no map.
  /// - Parameter keys: those that it may have.
  func section(
    _ section: TemplateSource.Entry?, keys: [String]
  ) -> [String: TemplateSource.Entry] {
    guard let section else { return [:] }
    guard case .map(let entries) = section.value.value else {
      report(
        section.value.place,
        "\(section.key) must be a map with some of the keys \(Self.list(keys))")
      return [:]
    }
    for entry in entries where !keys.contains(entry.key) {
      report(
        entry.place, "unknown key '\(entry.key)': \(section.key) has \(Self.list(keys))")
    }
    return unique(entries)
  }
}
