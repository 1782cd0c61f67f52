import Model

/// What Apple asks of a push of one type beyond the keys and types of `aps`: a row of a table, with
/// the page that says it. What a page only recommends, or what we only half know, is a warning.
struct PushTypeRule: Equatable, Sendable {
  /// When a rule of its type is asked.
  enum Condition: Equatable, Sendable {
    case always
    /// `aps.event` of a Live Activity is one of these.
    case event([String])
    /// A member has this value.
    case member(String, TemplateSource.Value)
  }

  enum Demand: Equatable, Sendable {
    case priority(Int)
    /// `apns-expiration: 0`: Apple tries once.
    case notStored
    /// The member is there, and never left out.
    case has(String)
    case holds(String, TemplateSource.Value)
    /// None of these members is there.
    case lacks([String])
    /// Of the keys that Apple knows, `aps` has this alone.
    case apsHasOnly(String)
  }

  let types: [PushType]
  var condition = Condition.always
  let demand: Demand
  var isWarning = false
  /// For whoever writes the template: what is wrong and what to do.
  let words: String
  let page: ApplePage

  /// Where the push breaks the rule; nothing when it does not, or is not asked.
  func breaches(in push: PushDraft) -> [TemplateSource.Place] {
    guard types.contains(push.type), isMet(by: push) else { return [] }
    switch demand {
    case .priority(let wanted):
      return push.priority.flatMap { $0.value == wanted ? nil : [$0.place] } ?? []
    case .notStored: return push.isStored.flatMap { $0.value ? [$0.place] : nil } ?? []
    case .has(let path):
      guard let member = push.member(path) else { return [push.home(of: path)] }
      return push.mayBeMissing(member) ? [member.place] : []
    case .holds(let path, let wanted):
      guard let member = push.member(path) else { return [push.home(of: path)] }
      return member.value.value == wanted ? [] : [member.place]
    case .lacks(let paths): return paths.compactMap { push.member($0)?.place }
    case .apsHasOnly(let key):
      return push.aps.filter { $0.key != key && ApplePayloadCheck.isKnownToApple($0.key) }
        .map(\.place)
    }
  }

  private func isMet(by push: PushDraft) -> Bool {
    switch condition {
    case .always: return true
    case .event(let names):
      guard case .string(let name)? = push.member("aps.event")?.value.value else { return false }
      return names.contains(name)
    case .member(let path, let value): return push.member(path)?.value.value == value
    }
  }
}

extension PushType {
  /// What is sent when the template does not say: 10, unless a rule wants another.
  package var usualPriority: Int {
    for case .priority(let priority) in PushTypeRule.demands(on: self) { return priority }
    return 10
  }

  /// Whether Apple keeps it for a device that is offline when the template does not say.
  package var isUsuallyStored: Bool { !PushTypeRule.demands(on: self).contains(.notStored) }
}
