import Devices
import Ingest
import Model
import Record
import Redis
import Render

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

  private func of<T>(
    _ body: () async throws(DevicesError) -> T
  ) async throws(TraceError) -> T {
    do throws(DevicesError) {
      return try await body()
    } catch {
      throw .devices(error)
    }
  }

  private func rendered(_ facts: TraceFacts, _ template: Template?) -> RenderedNow {
    guard let event = facts.announced else {
      return .unknown("the event itself is not kept")
    }
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
