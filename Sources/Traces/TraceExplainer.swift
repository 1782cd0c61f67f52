import Devices
import Model
import Record

/// What follows from the facts. A pure machine: whoever reads Redis, and shows what is found, are
/// others.
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
    if let note = facts.userNote { return TraceWords.of(note) }
    let addressed = devices.filter { device in
      device.at != nil
        || device.state == .bound && device.binding.map { facts.isAddressed($0) } == true
    }
    if let best = addressed.map(\.finding).min(by: { $0.verdict < $1.verdict }) { return best }
    return ofUser ?? withoutDevice
  }

  /// Nothing was sent of it to anybody.
  private var ofEvent: Finding? {
    if status.state == .expired, status.pushes == 0 {
      return TraceWords.eventExpired(at: facts.announced?.expiresAt)
    }
    guard status.segments == 0, status.state != .running else { return nil }
    if status.brake == .cancelled { return TraceWords.notSent(status.brakeReason) }
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
      return TraceWords.setAside(device.reason)
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
        finding: note.map { of($0) } ?? silent(device), at: note?.at, sends: note?.sends)
    }
      + facts.devices.setAside.map { device in
        let note = facts.note(of: device.binding)
        return TracedDevice(
          state: .setAside, binding: device.binding, since: device.setAsideAt,
          finding: note.map { of($0) } ?? TraceWords.setAside(device.reason),
          at: note?.at, sends: note?.sends)
      }
      + facts.notesOfOthers.map { note in
        TracedDevice(
          state: .gone, binding: nil, since: nil, finding: of(note), at: note.at,
          sends: note.sends)
      }
  }

  /// What waited when its segment was settled has its last word once all is over.
  private func of(_ note: TracedPush) -> Finding {
    note.word == "waiting" && (status.state == .done || status.state == .expired)
      ? TraceWords.notKeptAtAll : TraceWords.of(note)
  }

  /// Of a device that is bound, of whose push nothing was noted.
  private func silent(_ device: BoundDevice) -> Finding {
    if let finding = ofEvent { return finding }
    if let note = facts.userNote { return TraceWords.of(note) }
    if let finding = ofUser { return finding }
    guard facts.isAddressed(device.binding) else {
      return TraceWords.otherTopic(facts.topic ?? "")
    }
    guard facts.outcomes.isSettled else { return unsettled }
    if let boundAt = device.boundAt, status.startedAt > 0, boundAt > Int64(status.startedAt) {
      return TraceWords.boundLater(
        by: boundAt - Int64(status.startedAt),
        isOver: status.doneAt > 0
          && boundAt > Int64(status.doneAt))
    }
    if status.trace.isEmpty { return TraceWords.notKeptAtAll }
    if status.traceOmitted > 0 { return TraceWords.notKept(omitted: status.traceOmitted) }
    guard status.trace == OutcomeNotes.Level.failures.rawValue, status.accepted > 0 else {
      return TraceWords.notAddressed
    }
    return TraceWords.presumablyAccepted
  }

  /// The segment that the push is in has no end yet.
  private var unsettled: Finding {
    let dead = facts.outcomes.deadLetters
    if let segment = facts.segment, dead.contains(segment) {
      return TraceWords.deadLetter("the segment \(segment)")
    }
    if dead.contains("event") { return TraceWords.deadLetter("the event") }
    if dead.contains("plan") { return TraceWords.deadLetter("the rest of its segments") }
    switch (status.state, status.brake) {
    case (.running, .paused?): return TraceWords.paused(status.brakeReason)
    case (.running, .cancelled?): return TraceWords.cancelling(status.brakeReason)
    case (.running, nil): return TraceWords.running(settled: status.settled, of: status.segments)
    case (.done, _), (.expired, _), (.incomplete, _), (.unknown, _):
      return facts.segment == nil ? TraceWords.notAddressed : TraceWords.lost
    }
  }
}
