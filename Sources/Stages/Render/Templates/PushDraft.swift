import Model

/// The parts of a template that the rules of its push type ask about.
struct PushDraft {
  let type: PushType
  /// Nil: the template leaves it to us.
  let priority: (value: Int, place: TemplateSource.Place)?
  /// The same of `stored`.
  let isStored: (value: Bool, place: TemplateSource.Place)?
  let payload: [TemplateSource.Entry]
  /// Of `payload`.
  let place: TemplateSource.Place

  /// The members of `aps`; none when it is missing or no map.
  var aps: [TemplateSource.Entry] {
    guard case .map(let members)? = payload.first(where: { $0.key == "aps" })?.value.value else {
      return []
    }
    return members
  }

  /// The member at the end of the keys, `mdm` or `aps.event`.
  func member(_ path: String) -> TemplateSource.Entry? {
    guard path.hasPrefix("aps.") else { return payload.first { $0.key == path } }
    let key = path.dropFirst("aps.".count)
    return aps.first { $0.key == key }
  }

  /// Where a member would stand.
  func home(of path: String) -> TemplateSource.Place {
    guard path.hasPrefix("aps.") else { return place }
    return member("aps")?.place ?? place
  }

  /// Whether the member may be left out when its value is not of its type.
  func mayBeMissing(_ member: TemplateSource.Entry) -> Bool {
    guard case .string(let text) = member.value.value, let typed = TemplateText(text).typed
    else { return false }
    return typed.fallback == nil && !typed.isTime
  }
}
