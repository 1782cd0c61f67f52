import Devices
import Ingest
import Keyspace
import Model
import Record
import Redis
import Render
import Rules

/// Reads what became of an event for a user, and says why. Writes nothing. Confined to the loop of
/// its Redis client.
package struct TraceReader {
  private let options: TraceOptions
  private let record: RecordStage
  private let registry: DeviceRegistry
  private let audiences: AudienceReader
  private let tags: AudienceReader

  package init(redis: RedisClient, options: TraceOptions) {
    self.options = options
    record = RecordStage(redis: redis, keyspace: options.keyspace)
    let plainSet = options.plainSetKey.map { PlainSetPattern($0) }
    registry = DeviceRegistry(redis: redis, keyspace: options.keyspace, plainSet: plainSet)
    audiences = AudienceReader(redis: redis, keyspace: options.keyspace, plainSet: plainSet)
    tags = AudienceReader(redis: redis, keyspace: options.keyspace.ofTags)
  }

  /// - Parameter now: ms since 1970: whose hours are quiet goes by it.
  package func trace(
    _ event: String, of user: String, now: Int64
  ) async throws(TraceError) -> Trace {
    do throws(GivenRefusal) { try Given.user(user) } catch { throw .badUser(error) }
    let status = try await status(of: event)
    var facts = TraceFacts(event: event, user: user, status: status)
    try await readOutcomes(&facts)
    try await readUser(&facts)
    if status.goesByFollowers, !status.streamer.isEmpty {
      facts.follower = try await of { () async throws(DevicesError) in
        try await audiences.place(of: user, following: status.streamer)
      }
    }
    facts.isInAudience = try await isInAudience(facts)
    let template = options.template(status.template)
    if let announced = facts.announced, let template {
      facts.topic = announced.app + template.pushType.topicSuffix
    }
    let view = ProfileView(facts.profile, options.rules, streamer: status.streamer, now: now)
    facts.profileProblems = view.problems
    facts.ruleNow = view.suppressedBy
    guard facts.knowsUser else { throw .unknownUser }
    var trace = TraceExplainer(facts: facts).trace()
    trace.rendered = rendered(facts, template)
    return trace
  }

  /// Nil where the event has no audience of its own, or is not known.
  private func isInAudience(_ facts: TraceFacts) async throws(TraceError) -> Bool? {
    guard let event = facts.announced else { return nil }
    switch event.audience {
    case .followers: return nil
    case .users(let users): return users.contains { $0.utf8.elementsEqual(facts.user.utf8) }
    case .matching(let expression):
      var found: Set<AudienceExpression.List> = []
      for list in expression.lists {
        let (reader, name) =
          switch list {
          case .followers: (audiences, event.streamer)
          case .tag(let tag): (tags, tag)
          }
        let place = try await of { () async throws(DevicesError) in
          try await reader.place(of: facts.user, following: name)
        }
        if place.isThere { found.insert(list) }
      }
      return expression.holds { found.contains($0) }
    }
  }

  private func status(of event: String) async throws(TraceError) -> FanOutStatus {
    do throws(RecordError) {
      if let status = try await record.status(of: event) { return status }
    } catch {
      throw .record(error)
    }
    throw .unknownEvent
  }

  private func readOutcomes(_ facts: inout TraceFacts) async throws(TraceError) {
    let (user, event, status) = (facts.user, facts.event, facts.status)
    facts.segment = record.segment(of: user, status)
    do throws(RecordError) {
      facts.outcomes = try await record.outcomes(
        of: user, event: event, status, segment: facts.segment ?? "")
    } catch {
      throw .record(error)
    }
    // Nobody can tell in which one the user is: it is settled when all are.
    if facts.segment == nil, !status.goesByFollowers {
      facts.outcomes.isSettled = status.state == .done
    }
    if let document = facts.outcomes.document {
      facts.announced = try? IngestStage(options: options.ingest).event(document: document)
    }
  }

  /// A key that holds something else is what we look for, and no error.
  private func readUser(_ facts: inout TraceFacts) async throws(TraceError) {
    do throws(DevicesError) {
      let record = try await registry.user(facts.user)
      facts.devices = record.devices
      facts.profile = record.profile
    } catch {
      switch error.code {
      case .badContent, .redis(.wrongType): facts.unreadable = error.message
      case .redis, .invalid, .tooLarge, .conflict, .overtaken, .untold: throw .devices(error)
      }
    }
  }

  private func of<T>(_ body: () async throws(DevicesError) -> T) async throws(TraceError) -> T {
    do throws(DevicesError) {
      return try await body()
    } catch {
      throw .devices(error)
    }
  }

  private func rendered(_ facts: TraceFacts, _ template: Template?) -> RenderedNow {
    guard let event = facts.announced else { return .unknown("the event itself is not kept") }
    guard let template else {
      return .unknown("this process has no template \(event.template) that is good")
    }
    var fields: [String: String] = [:]
    for field in facts.profile.members { fields[field.name] = field.value }
    do throws(RenderError) {
      return .preview(
        try RenderStage(templates: [template]).prepare(event).preview(recipient: fields))
    } catch {
      return .unknown(error.description)
    }
  }
}

/// Why there is no trace.
package enum TraceError: Error, Sendable, Equatable {
  case unknownEvent
  case unknownUser
  case badUser(GivenRefusal)
  case record(RecordError)
  case devices(DevicesError)

  /// For people; nil where another room has said it.
  package var message: String? {
    switch self {
    case .unknownEvent:
      "Redis knows no such event: no worker has read it yet, its record went to the dead letters "
        + "before it was opened, or it began over 7 days ago"
    case .unknownUser:
      "Redis knows nothing of this user: no device, no profile, no follow of this streamer, and "
        + "nothing was noted for this event; is the id right?"
    case .badUser(let refusal):
      "\(refusal.name) must be \(refusal.rule)\(refusal.hint); a fan-out passes over a follower "
        + "with another id"
    case .record, .devices: nil
    }
  }
}

/// The configuration of this process, which a trace reads beside Redis and which workers share if
/// they are configured alike.
package struct TraceOptions: Sendable {
  package var keyspace: Keyspace
  package var ingest: IngestOptions
  /// Where followers without shards may stand: the pattern of `audience.plain_set_key`.
  package var plainSetKey: String?
  package var rules: RecipientRules
  /// As it is now; nil where this process has none of that name, or a mistaken one.
  package var template: @Sendable (_ name: String) -> Template?

  package init(
    keyspace: Keyspace, ingest: IngestOptions, plainSetKey: String? = nil,
    rules: RecipientRules = RecipientRules(),
    template: @escaping @Sendable (String) -> Template? = { _ in nil }
  ) {
    self.keyspace = keyspace
    self.ingest = ingest
    self.plainSetKey = plainSetKey
    self.rules = rules
    self.template = template
  }
}

/// A profile's values for the rules of this process at one moment, and those that mean nothing.
struct ProfileView {
  private(set) var suppressedBy: SuppressionRule?
  /// In words for people; without values.
  private(set) var problems: [String] = []

  /// A longer value counts as not set.
  private static let maximumFieldBytes = 4_096

  init(_ profile: UserProfile, _ rules: RecipientRules, streamer: String, now: Int64) {
    var bytes: [UInt8] = []
    var ranges: [(field: RuleField, range: Range<Int>)] = []
    for field in rules.fields {
      let value = Array((profile[field.rawValue] ?? "").utf8)
      ranges.append((field, bytes.count..<bytes.count + value.count))
      bytes += value
    }
    let judge = RecipientJudge(rules, streamer: Array(streamer.utf8), now: now)
    bytes.withUnsafeBytes { bytes in
      var values = RuleValues()
      for (field, range) in ranges {
        values[field] = UnsafeRawBufferPointer(rebasing: bytes[range])
      }
      let verdict = judge.verdict(on: values)
      suppressedBy = verdict.suppressedBy
      if values.mutedStreamers.count > RecipientJudge.maximumListBytes {
        problems.append(
          "muted_streamers is over \(RecipientJudge.maximumListBytes) bytes: its end counts as "
            + "not set")
      }
      if !values.quiet.isEmpty, QuietHours(values.quiet) == nil {
        problems.append("quiet is not written like 22:00-07:00: it counts as not set")
      }
    }
    let zone = profile[RuleField.timeZone.rawValue] ?? ""
    if rules.fields.contains(.timeZone), !zone.isEmpty, !ZoneNames.understands(zone) {
      problems.append("tz is no zone that is known: rules.default_time_zone is taken")
    }
    let locale = profile[ProfilePatch.locale] ?? ""
    if !locale.isEmpty, LocaleTag(locale)?.isOfKnownLanguage != true {
      problems.append("locale is no language that is known: the template's default_locale is taken")
    }
    let own = Set(RuleField.allCases.map(\.rawValue))
    for field in profile.members where field.value.utf8.count > Self.maximumFieldBytes {
      guard !own.contains(field.name) else { continue }
      problems.append("\(field.name) is over \(Self.maximumFieldBytes) bytes: it counts as not set")
    }
  }
}

/// Draws conclusions from the facts. A pure machine: others read Redis and show the findings.
struct TraceExplainer {
  let facts: TraceFacts
  private var status: FanOutStatus { facts.status }

  func trace() -> Trace {
    let devices = devices
    return Trace(
      event: facts.event, user: facts.user, finding: finding(devices), status: status,
      app: facts.announced?.app, expiresAt: facts.announced?.expiresAt, topic: facts.topic,
      follower: facts.follower, segment: facts.segment, isSettled: facts.outcomes.isSettled,
      devices: devices,
      problems: (facts.unreadable.map { [$0] } ?? []) + facts.profileProblems,
      ruleNow: facts.ruleNow)
  }

  /// Of all of the user's devices together.
  private func finding(_ devices: [TracedDevice]) -> Finding {
    if let finding = ofEvent { return finding }
    if let note = facts.userNote { return TraceWords.of(note, by: "the push service") }
    let addressed = devices.filter { device in
      device.at != nil
        || device.state == .bound && device.binding.map { facts.isAddressed($0) } == true
    }
    if let best = addressed.map(\.finding).min(by: { $0.verdict < $1.verdict }) { return best }
    return ofUser ?? withoutDevice
  }

  /// Nothing was sent of it to anybody.
  private var ofEvent: Finding? {
    if status.state == .scheduled {
      if status.halt != .cancelled, let problem = status.releaseProblem {
        return TraceWords.notReleased(problem)
      }
      return status.halt == .cancelled
        ? TraceWords.notSent(status.haltReason) : TraceWords.scheduled(status.sendAt?.text ?? "")
    }
    if status.state == .expired, status.pushes == 0 {
      return TraceWords.eventExpired()
    }
    guard status.segments == 0, status.state != .running else { return nil }
    if status.halt == .cancelled { return TraceWords.notSent(status.haltReason) }
    guard !facts.outcomes.deadLetters.contains("event") else { return nil }
    return facts.isInAudience == nil ? TraceWords.noFollowers : TraceWords.emptyAudience
  }

  /// The user gets none of such events.
  private var ofUser: Finding? {
    if let why = facts.unreadable { return TraceWords.skipped(why) }
    if facts.isInAudience == false { return TraceWords.notInAudience }
    return facts.follower == .nowhere ? TraceWords.notFollowing(status.streamer) : nil
  }

  /// No device was addressed, and none is that would be.
  private var withoutDevice: Finding {
    if let device = facts.devices.setAside.first(where: { facts.isAddressed($0.binding) }) {
      return TraceWords.setAside(device.reason, by: device.binding.service)
    }
    guard facts.devices.bound.isEmpty, facts.devices.setAside.isEmpty else {
      return TraceWords.otherTopic(facts.topic ?? "")
    }
    return TraceWords.noDevice(unreadable: facts.devices.unreadable)
  }

  // MARK: devices

  private var devices: [TracedDevice] {
    facts.devices.bound.map { device in
      let note = facts.note(of: device.binding)
      return TracedDevice(
        state: .bound, binding: device.binding, since: device.boundAt,
        finding: note.map { of($0, device.binding) } ?? silent(device), at: note?.at,
        sends: note?.sends)
    }
      + facts.devices.setAside.map { device in
        let note = facts.note(of: device.binding)
        return TracedDevice(
          state: .setAside, binding: device.binding, since: device.setAsideAt,
          finding: note.map { of($0, device.binding) }
            ?? TraceWords.setAside(device.reason, by: device.binding.service),
          at: note?.at, sends: note?.sends)
      }
      + facts.notesOfOthers.map { note in
        TracedDevice(
          state: .gone, binding: nil, since: nil, finding: of(note, nil), at: note.at,
          sends: note.sends)
      }
  }

  /// A push that waited when its segment was settled has its outcome once all is over.
  private func of(_ note: TracedPush, _ binding: Binding?) -> Finding {
    note.word == "waiting" && (status.state == .done || status.state == .expired)
      ? TraceWords.notKeptAtAll : TraceWords.of(note, by: binding?.service ?? "the push service")
  }

  /// Of a device that is bound, of whose push nothing was noted.
  private func silent(_ device: BoundDevice) -> Finding {
    let service = device.binding.service
    if let finding = ofEvent { return finding }
    if let note = facts.userNote { return TraceWords.of(note, by: service) }
    if let finding = ofUser { return finding }
    guard facts.isAddressed(device.binding) else { return TraceWords.otherTopic(facts.topic ?? "") }
    guard facts.outcomes.isSettled else { return unsettled(service) }
    if let boundAt = device.boundAt, status.startedAt > 0, boundAt > Int64(status.startedAt) {
      return TraceWords.boundLater(
        by: boundAt - Int64(status.startedAt),
        isOver: status.doneAt > 0
          && boundAt > Int64(status.doneAt), service)
    }
    if status.trace.isEmpty { return TraceWords.notKeptAtAll }
    if status.traceOmitted > 0 {
      return TraceWords.notKept(omitted: status.traceOmitted, by: service)
    }
    guard status.trace == OutcomeNotes.Level.failures.rawValue, status.accepted > 0 else {
      return TraceWords.notAddressed(by: service)
    }
    return TraceWords.presumablyAccepted(by: service)
  }

  /// The segment that the push is in has no end yet.
  private func unsettled(_ service: String) -> Finding {
    let dead = facts.outcomes.deadLetters
    if let segment = facts.segment, dead.contains(segment) {
      return TraceWords.deadLetter("the segment \(segment)")
    }
    if dead.contains("event") { return TraceWords.deadLetter("the event") }
    if dead.contains("plan") { return TraceWords.deadLetter("the rest of its segments") }
    switch (status.state, status.halt) {
    case (.running, .paused?): return TraceWords.paused(status.haltReason)
    case (.running, .cancelled?): return TraceWords.cancelling(status.haltReason)
    case (.running, nil):
      return status.releaseProblem.map { TraceWords.notReleased($0) }
        ?? TraceWords.running(settled: status.settled, of: status.segments)
    case (.scheduled, _), (.done, _), (.expired, _), (.incomplete, _), (.unknown, _):
      return facts.segment == nil
        ? TraceWords.notAddressed(by: service) : TraceWords.lost
    }
  }
}

/// The facts about a user and an event, before any conclusion.
struct TraceFacts {
  let event: String
  let user: String
  let status: FanOutStatus
  /// The event as it came; nil where it was not kept.
  var announced: Event?
  /// Whether and where the user follows the streamer now; nil: the event did not go by followers.
  var follower: FollowPlace?
  /// Whether the event's own audience names the user now; nil: it has none, or is not known.
  var isInAudience: Bool?
  /// The segment with the user's pushes; nil: nobody can tell.
  var segment: String?
  var outcomes = UserOutcomes()
  var devices = UserDevices()
  var profile = UserProfile()
  /// Why what Redis holds of the user cannot be used.
  var unreadable: String?
  /// Faults of the profile; it counts as not set.
  var profileProblems: [String] = []
  /// The rule that keeps events of this streamer from the user at this moment.
  var ruleNow: SuppressionRule?
  /// The topic of the event's pushes; nil where event or template are not known.
  var topic: String?

  init(event: String, user: String, status: FanOutStatus) {
    self.event = event
    self.user = user
    self.status = status
  }

  /// Whether anything speaks of the user.
  var knowsUser: Bool {
    !devices.isEmpty || !profile.members.isEmpty || unreadable != nil || follower?.isThere == true
      || isInAudience == true
      || !outcomes.pushes.isEmpty
  }

  /// Of the whole user.
  var userNote: TracedPush? { outcomes.pushes.first { $0.device == 0 } }

  func note(of binding: Binding) -> TracedPush? {
    let mark = DeviceMark.of(binding.member)
    return outcomes.pushes.first { $0.device == mark }
  }

  /// Notes on devices that the user has no longer.
  var notesOfOthers: [TracedPush] {
    let known = Set(
      (devices.bound.map(\.binding) + devices.setAside.map(\.binding)).map {
        DeviceMark.of($0.member)
      })
    return outcomes.pushes.filter { $0.device != 0 && !known.contains($0.device) }
  }

  func isAddressed(_ binding: Binding) -> Bool { topic == nil || binding.topic == topic }
}

extension Binding {
  /// Who delivers to the device, for people.
  fileprivate var service: String { destination.platform.owner }
}
