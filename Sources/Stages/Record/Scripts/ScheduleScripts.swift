import Keyspace
import Model
import Redis

/// The scripts on events that are to be sent later. The event's hash says when (`scheduled.lua`);
/// `ff:{stats}:scheduled` only says which hash to look at next. So each step may be repeated, and
/// an entry that is too early, or there twice, does nothing.
enum ScheduleScripts {
  static let schedule = RedisScript(
    RecordScripts.event + [
      PackageResources.clock_lua, PackageResources.scheduled_lua, PackageResources.schedule_lua,
    ])
  static let reschedule = RedisScript([
    SharedLua.permissions, PackageResources.clock_lua, PackageResources.reschedule_lua,
  ])
  static let takeDue = RedisScript([PackageResources.clock_lua, PackageResources.take_due_lua])
  static let returnDue = RedisScript([PackageResources.return_due_lua])
}

extension RecordStage {
  /// Notes an event that is to be sent later. Safe to repeat.
  ///
  /// - Parameters:
  ///   - source: of the record that is read.
  ///   - released: the source of the record that brought the event, when this one releases it.
  ///   - replayed: the source of the record that this one repeats, when it comes back from the dead
  ///     letters. Before its time it waits, with the body that it has now.
  package func schedule(
    _ event: Event, _ sendAt: SendTime, source: String, released: String? = nil,
    replayed: String? = nil, now: Int64
  ) async throws(RecordError) -> ScheduleResult {
    let reply = try await run(
      ScheduleScripts.schedule, event, keys: [keyspace.document(event: event.id)], now: now,
      arguments: Self.times(of: event, sendAt) + [
        "source": source, "released": released ?? "", "replayed": replayed ?? "",
        "expires_ms": String(event.expiresAt),
        "document": String(decoding: event.document, as: UTF8.self),
        "longest_ms": String(Keyspace.longestScheduleSeconds * 1000),
        "scheduled_seconds": String(Keyspace.scheduledLifetimeSeconds),
      ])
    switch reply[0].text {
    case "due":
      return .due(SendTime(storedAt: reply[1].text, local: reply[2].text))
    case "waits": return .waits(try Self.due(reply[1]))
    case "duplicate":
      try await handOver(event.id, now: now)
      return .duplicate
    default: throw .unexpected(reply.kind, from: "the script that schedules an event")
    }
  }

  /// Lets workers look at the event at this time. It may be there already.
  /// - Parameter due: ms since 1970.
  package func enlist(_ event: String, due: Int64) async throws(RecordError) {
    try await addScheduled(event, [String(due)])
  }

  /// Whether so many events are scheduled that no other one may be.
  package func isScheduleFull(for event: String) async throws(RecordError) -> Bool {
    let key = keyspace.statsScheduled
    let replies = try await checkedReplies(to: [["ZCARD", key], ["ZSCORE", key, event]])
    return replies[1].text == nil
      && replies[0].integer ?? 0 >= Int64(Keyspace.maximumScheduled)
  }

  /// Changes when a scheduled event is sent. Safe to repeat.
  ///
  /// - Parameter ahead: how far ahead it may be.
  package func reschedule(
    _ event: String, to sendAt: SendTime, ahead: Duration
  ) async throws(RecordError) -> RescheduleResult {
    let reply = try await evaluate(
      ScheduleScripts.reschedule, keys: [keyspace.event(id: event)],
      arguments: Self.times(of: sendAt) + ["ahead_ms": Self.milliseconds(ahead)],
      isLasting: true)
    switch reply[0].text {
    case "done": break
    case "unknown": return .unknown
    case "begun": return .begun(reply[1].text ?? "")
    case "cancelled": return .cancelledBefore
    case "late": return .tooLate(try Self.due(reply[1]))
    case "early": return .tooEarly(expiredAt: try Self.due(reply[1]))
    default: throw .unexpected(reply.kind, from: "the script that reschedules an event")
    }
    let due = sendAt.due.lowerBound
    try await enlist(event, again: due, after: due)
    return .done
  }

  /// Lets workers look at the event at `later`, unless somebody has rescheduled it since it was
  /// known to be due at `due`. What the hash says last is what stands here last. All in ms since
  /// 1970.
  func enlist(_ event: String, again later: Int64, after due: Int64) async throws(RecordError) {
    var (later, due) = (later, due)
    while true {
      try await enlist(event, due: later)
      let known = try await execute(["HGET", keyspace.event(id: event), "send_at_ms"])
      guard let now = Int64(known.text ?? ""), now != due else { return }
      (later, due) = (now, now)
    }
  }

  /// A fan-out that was cancelled: what is to come of it comes at once.
  /// - Parameter now: ms since 1970.
  func hasten(_ event: String, to now: Int64) async throws(RecordError) {
    try await addScheduled(event, ["XX", String(now)])
  }

  private func addScheduled(_ event: String, _ words: [String]) async throws(RecordError) {
    _ = try await execute(["ZADD", keyspace.statsScheduled] + words + [event])
  }

  /// The facts about an event that each of its releases needs.
  static func times(of event: Event, _ sendAt: SendTime) -> ScriptArguments {
    times(of: sendAt) + [
      "appended_ms": String(event.appendedAt), "traceparent": event.trace?.traceparent ?? "",
    ]
  }

  private static func times(of sendAt: SendTime) -> ScriptArguments {
    var local = ""
    if case .local(let milliseconds) = sendAt { local = String(milliseconds) }
    return [
      "send_ms": String(sendAt.due.lowerBound), "last_ms": String(sendAt.due.upperBound),
      "local_ms": local,
    ]
  }

  static func due(_ reply: RedisReply) throws(RecordError) -> Int64 {
    guard let time = Int64(reply.text ?? "") else {
      throw .badContent("the time of a scheduled event is no number: DEL the event's hash")
    }
    return time
  }
}

/// The result of `RecordStage.schedule`.
package enum ScheduleResult: Sendable, Equatable {
  /// It is to be opened now. Of an event that Redis knows with the time that holds for it, which
  /// may be another one than its record's.
  case due(SendTime?)
  /// When it is due, in ms since 1970.
  case waits(Int64)
  /// Another record brought the same id before, and that event waits for its time: drop it.
  case duplicate
}

/// The result of `RecordStage.reschedule`.
package enum RescheduleResult: Sendable, Equatable {
  case done
  /// It is being sent, or over; its state.
  case begun(String)
  case cancelledBefore
  /// The latest time that may be set, in ms since 1970.
  case tooLate(Int64)
  /// It would have expired already, and reach nobody; when, in ms since 1970.
  case tooEarly(expiredAt: Int64)
  /// No such event.
  case unknown
}

/// Scheduled events that are due.
extension RecordStage {
  /// Hands out scheduled events that are due by Redis' clock. Who does not return one in time
  /// leaves it to others.
  ///
  /// - Parameter lease: how long they are the caller's.
  package func takeDue(
    atMost maximum: Int, lease: Duration
  ) async throws(RecordError) -> [DueEvent] {
    let reply = try await evaluate(
      ScheduleScripts.takeDue, keys: [keyspace.statsScheduled],
      arguments: ["maximum": String(maximum), "lease_ms": Self.milliseconds(lease)])
    return stride(from: 0, to: reply.count - 1, by: 2).compactMap { index in
      guard let id = reply[index].text, let lease = reply[index + 1].text else { return nil }
      return DueEvent(event: id, lease: lease)
    }
  }

  /// The facts that Redis holds of an event that is due.
  package func scheduled(_ event: String) async throws(RecordError) -> ScheduledEvent? {
    let replies = try await checkedReplies(to: [
      ["HGETALL", keyspace.event(id: event)], ["GET", keyspace.document(event: event)],
    ])
    guard let fields = replies[0].dictionary, !fields.isEmpty else { return nil }
    return ScheduledEvent(
      status: FanOutStatus(fields: fields), document: replies[1].bytes.map(Array.init))
  }

  /// Gives back an event that was handed out, unless somebody has moved it meanwhile.
  /// - Parameter due: when it is due, in ms since 1970; nil where nothing more is to come of it.
  package func giveBack(_ taken: DueEvent, due: Int64?) async throws(RecordError) {
    _ = try await evaluate(
      ScheduleScripts.returnDue, keys: [keyspace.statsScheduled],
      arguments: [
        "id": taken.event, "lease": taken.lease, "due": due.map { String($0) } ?? "",
      ])
  }

  /// Events that wait for their time, the next first.
  package func scheduledFanOuts(
    atMost limit: Int, checksSizes: Bool = false
  ) async throws(RecordError) -> [KnownFanOut] {
    try await known(try await dueNext(atMost: limit), checksSizes)
      .filter { $0.status.state == .scheduled }
  }

  /// The ids of events that wait for their time, or for their next wave, the next first. Some may
  /// have begun or ended.
  package func dueNext(atMost limit: Int) async throws(RecordError) -> [String] {
    let reply = try await execute([
      "ZRANGE", keyspace.statsScheduled, "0", String(limit - 1),
    ])
    return (0..<reply.count).compactMap { reply[$0].text }
  }
}

/// An event whose time has come, handed out to one worker.
package struct DueEvent: Sendable, Equatable {
  package let event: String
  /// Says which handing out it is.
  let lease: String
}

/// A scheduled event, or one of which further waves are to come.
package struct ScheduledEvent: Sendable, Equatable {
  package let status: FanOutStatus
  /// The event as it came; nil where it is lost.
  package let document: [UInt8]?
}
