import MemoryRedis
import Record

/// What the hash of an event says, compared with the push services' ledgers number by number. Where
/// something went wrong that lets a push be sent again, numbers may differ by what that excuses.
extension Oracle {
  func checkBooks(_ index: Int, _ event: EventTruth, _ status: FanOutStatus) {
    if status.waiting != 0, status.state == .done {
      fail("\(event.id) is done, and \(status.waiting) pushes wait")
    }
    if status.recordErrors != 0 || status.skipped != 0 {
      fail("\(event.id): \(status.recordErrors) counters and \(status.skipped) users are wrong")
    }
    if status.suppressed != status.suppressedByRule.values.reduce(0, +) {
      fail("\(event.id) has suppressed \(status.suppressed), by rules \(status.suppressedByRule)")
    }
    if status.streamer != "s\(event.streamer)"
      || status.numbers["expires_ms"] ?? 0 != event.expiresAt,
      status.state != .expired
    {
      fail(
        "\(event.id) is of \(status.streamer), and expires at \(status.numbers["expires_ms"] ?? 0)")
    }
    checkSets(event, status)
    checkTimes(index, event, status)
    if isCalm(event) { checkExactly(index, event, status) }
  }

  /// Whether nothing went wrong in its time that lets somebody send again, or hear nothing.
  private func isCalm(_ event: EventTruth) -> Bool {
    !plan.hasClosers
      && !faults.any(from: event.begins, to: event.over, after: .seconds(25)) { $0.maySendAgain }
  }

  private func checkSets(_ event: EventTruth, _ status: FanOutStatus) {
    let keyspace = world.keyspace
    let settled = world.members(keyspace.settled(id: event.id))
    let stragglers = world.members(keyspace.stragglers(id: event.id))
    let dead = world.members(keyspace.deadLetters(id: event.id))
    if settled.count != status.settled || stragglers.count != status.stragglers {
      fail(
        "\(event.id) has \(settled.count) segments settled and \(stragglers.count) of stragglers; "
          + "its hash says \(status.settled) and \(status.stragglers)")
    }
    if status.state == .done, !stragglers.isSubset(of: settled) {
      fail("\(event.id) is done without \(stragglers.subtracting(settled).sorted())")
    }
    if status.deadLettered == 0 ? !dead.isEmpty : dead.isEmpty {
      fail("\(event.id) has \(status.deadLettered) dead letters, of \(dead.sorted())")
    }
    if status.numbers["forgotten_ms"] != nil { fail("\(event.id) says that Redis forgot it") }
  }

  private func checkTimes(_ index: Int, _ event: EventTruth, _ status: FanOutStatus) {
    // Each is told by the clock of a worker.
    guard !faults.all.contains(where: \.isSkew) else { return }
    let began = Int(world.wallClock(at: event.begins))
    let over = Int(world.wallClock(at: event.over))
    let (first, last) = (status.firstPushAt, status.lastPushAt)
    if status.startedAt < began || status.doneAt > over || status.startedAt > status.doneAt {
      fail(
        "\(event.id) went on from \(status.startedAt) to \(status.doneAt), not \(began) to \(over)")
    }
    guard let times = book.times[index], isCalm(event) else { return }
    let (from, to) = (world.wallClock(at: times.lowerBound), world.wallClock(at: times.upperBound))
    if first > from || first < status.startedAt || last < first || last > status.doneAt {
      fail(
        "\(event.id): its first push went at \(first), its last at \(last), Apple's first came at "
          + "\(from); it began at \(status.startedAt), and was done at \(status.doneAt)")
    }
    let isDirect = !faults.any(from: event.begins, to: event.over, after: .seconds(25)) {
      $0.isOfService
    }
    let way = Int(plan.wayToApple.wholeMilliseconds) + 1
    if isDirect, last + way < to {
      fail("\(event.id): its last push went at \(last), and Apple's last came at \(to)")
    }
  }

  private func checkExactly(_ index: Int, _ event: EventTruth, _ status: FanOutStatus) {
    let (requests, devices, accepted) = book.sums(index)
    if status.accepted != accepted {
      fail("\(event.id) has accepted \(status.accepted), Apple took \(accepted)")
    }
    let refusals = book.refusals[index] ?? [:]
    for reason in PushBook.finalReasons.sorted()
    where status.rejected[reason] ?? 0 != refusals[reason] ?? 0 {
      fail(
        "\(event.id) has rejected:\(reason) \(status.rejected[reason] ?? 0), Apple refused "
          + "\(refusals[reason] ?? 0)")
    }
    if status.retried < requests - devices - moves(index) {
      fail(
        "\(event.id) has retried \(status.retried), Apple had \(requests) for \(devices) devices")
    }
    let verdicts =
      ["pruned", "prune_refused", "prune_undated", "prune_withheld", "quarantined"]
      .reduce(status.numbers["quarantine_withheld"] ?? 0) { $0 + (status.numbers[$1] ?? 0) }
    let tokens = refusals.filter { PushBook.ofTokens.contains($0.key) }.values.reduce(0, +)
    let entries = book.entries[index] ?? []
    let others = entries.indices.count { entries[$0].refused > 0 && !truth.isStatic($0) }
    if verdicts > tokens || verdicts + others < tokens - twiceGone(index) {
      fail("\(event.id): of \(tokens) devices Apple took none, verdicts \(verdicts)")
    }
  }

  /// Devices that went to somebody else while it went on.
  private func moves(_ index: Int) -> Int {
    let entries = book.entries[index] ?? []
    return entries.indices.count { entries[$0].requests > 0 && !truth.isStatic($0) }
  }

  /// Devices that another event has found gone, too: one of them takes them away.
  private func twiceGone(_ index: Int) -> Int {
    let entries = book.entries[index] ?? []
    return entries.indices.count { device in
      entries[device].refused > 0
        && events.indices.contains { $0 != index && book.entry($0, device).refused > 0 }
    }
  }
}

extension Deed {
  fileprivate var isSkew: Bool { if case .skew = self { true } else { false } }
}
