import Model

/// Apple's demands on a push of one type beyond the keys and types of `aps`: a row of a table, with
/// the page that says it. A recommendation, or a demand that we only half know, is a warning.
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
  /// The priority where the template sets none: 10, unless a rule wants another.
  package var usualPriority: Int {
    for case .priority(let priority) in PushTypeRule.demands(on: self) { return priority }
    return 10
  }

  /// Whether Apple keeps it for a device that is offline when the template does not say.
  package var isUsuallyStored: Bool { !PushTypeRule.demands(on: self).contains(.notStored) }
}

extension PushTypeRule {
  /// Every rule, by push type. Complication and location have none but their topic.
  static let all = alerts + background + liveActivity + widgets + calls + system

  static func demands(on type: PushType) -> [Demand] {
    all.filter { $0.types.contains(type) && $0.condition == .always }.map(\.demand)
  }

  private static let alerts = [
    PushTypeRule(
      types: [.alert], condition: .member("aps.mutable-content", .integer(1)),
      demand: .has("aps.alert"), isWarning: true,
      words: "mutable-content needs an alert beside it: the app's extension is not asked otherwise",
      page: .serviceExtension)
  ]

  private static let background = [
    PushTypeRule(
      types: [.background], demand: .priority(5),
      words: "a background push must have priority 5: 10 is an error", page: .requests),
    PushTypeRule(
      types: [.background], demand: .holds("aps.content-available", .integer(1)),
      words: "a background push needs 'content-available: 1' in aps", page: .background),
    PushTypeRule(
      types: [.background], demand: .apsHasOnly("content-available"),
      words: "a background push has nothing but content-available in aps: remove this key, or set "
        + "push_type to alert",
      page: .background),
  ]

  private static let liveActivity = [
    PushTypeRule(
      types: [.liveactivity], demand: .has("aps.event"),
      words: "a Live Activity's push needs 'event' in aps: start, update or end",
      page: .liveActivity),
    PushTypeRule(
      types: [.liveactivity], demand: .has("aps.timestamp"),
      words: "a Live Activity's push needs a 'timestamp' in aps that is never left out, such as "
        + "\"{{event.occurred_at}}\": the device drops what is older than it shows",
      page: .liveActivity),
    PushTypeRule(
      types: [.liveactivity], condition: .event(["start", "update"]),
      demand: .has("aps.content-state"),
      words: "the start and the update of a Live Activity need 'content-state' in aps",
      page: .liveActivity),
    PushTypeRule(
      types: [.liveactivity], condition: .event(["end"]), demand: .has("aps.content-state"),
      isWarning: true,
      words: "the end of a Live Activity should have a last 'content-state' in aps: it is shown "
        + "until the activity goes",
      page: .liveActivity),
    PushTypeRule(
      types: [.liveactivity], condition: .event(["start"]), demand: .has("aps.attributes-type"),
      words: "the start of a Live Activity needs 'attributes-type' in aps: the name of the app's "
        + "ActivityAttributes",
      page: .liveActivity),
    PushTypeRule(
      types: [.liveactivity], condition: .event(["start"]), demand: .has("aps.attributes"),
      words: "the start of a Live Activity needs 'attributes' in aps", page: .liveActivity),
    PushTypeRule(
      types: [.liveactivity], condition: .event(["start"]), demand: .has("aps.alert"),
      words: "the start of a Live Activity needs an 'alert' in aps, with title and body",
      page: .liveActivity),
    PushTypeRule(
      types: [.liveactivity], condition: .event(["start", "update"]),
      demand: .lacks(["aps.dismissal-date"]),
      words: "only the end of a Live Activity has a dismissal-date", page: .liveActivity),
    PushTypeRule(
      types: [.liveactivity], condition: .event(["update", "end"]),
      demand: .lacks([
        "aps.attributes-type", "aps.attributes", "aps.input-push-token", "aps.input-push-channel",
      ]), isWarning: true,
      words: "only the start of a Live Activity has this key", page: .liveActivity),
    PushTypeRule(
      types: PushType.allCases.filter { $0 != .liveactivity },
      demand: .lacks([
        "aps.event", "aps.timestamp", "aps.content-state", "aps.stale-date", "aps.dismissal-date",
        "aps.attributes-type", "aps.attributes", "aps.input-push-token", "aps.input-push-channel",
      ]), isWarning: true,
      words:
        "only a Live Activity's push has this key: set push_type to liveactivity, or remove it",
      page: .liveActivity),
  ]

  private static let widgets = [
    PushTypeRule(
      types: [.widgets], demand: .holds("aps.content-changed", .boolean(true)),
      words: "a widget's push needs 'content-changed: true' in aps", page: .widgets),
    PushTypeRule(
      types: [.controls], demand: .holds("aps.content-changed", .boolean(true)),
      words: "a control's push needs 'content-changed: true' in aps", page: .controls),
    PushTypeRule(
      types: PushType.allCases.filter { $0 != .widgets && $0 != .controls },
      demand: .lacks(["aps.content-changed"]), isWarning: true,
      words: "only the pushes of widgets and controls have content-changed", page: .widgets),
  ]

  private static let calls = [
    PushTypeRule(
      types: [.voip], demand: .notStored, isWarning: true,
      words:
        "a voip push should not be stored, or be so for seconds only: a call that is over must "
        + "not ring. Set stored to false, or give events a short expires_in",
      page: .voip),
    PushTypeRule(
      types: [.pushtotalk], demand: .priority(10),
      words: "a pushtotalk push must have priority 10", page: .pushToTalk),
    PushTypeRule(
      types: [.pushtotalk], demand: .notStored,
      words:
        "a pushtotalk push must have 'stored: false' (apns-expiration: 0): speech that is over "
        + "must not be played",
      page: .pushToTalk),
  ]

  private static let system = [
    PushTypeRule(
      types: [.mdm], demand: .has("mdm"),
      words: "an mdm push needs 'mdm' in its payload, the device's PushMagic",
      page: .deviceManagement),
    PushTypeRule(
      types: [.mdm], demand: .lacks(["aps"]),
      words: "an mdm push must not have aps in its payload", page: .deviceManagement),
    PushTypeRule(
      types: [.fileprovider], demand: .has("container-identifier"), isWarning: true,
      words: "a fileprovider push should have 'container-identifier' in its payload: what changed",
      page: .fileProvider),
  ]
}
