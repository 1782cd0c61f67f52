import MemoryRedis
import Model
import Record

/// What must hold when a life is over.
extension Oracle {
  func checkEnd(_ statuses: [String: FanOutStatus]) {
    _ = look()
    for index in events.indices where events[index].isWritten {
      guard let status = statuses[events[index].id] else {
        if plan.losesRecords { continue }
        fail("nothing is known of \(events[index].id)")
        continue
      }
      if status.state == .running, isForgotten(index) { continue }
      check(index, status)
    }
    checkCopies()
    checkBindings()
    checkLetters()
    checkNews()
    guard !plan.losesNotes else { return }
    let keys = world.keys()
    checkStatistics(keys)
    checkRegistry(keys)
    checkKeys(keys)
  }

  private func check(_ index: Int, _ status: FanOutStatus) {
    let event = events[index]
    let mayBeIncomplete = plan.losesNotes || plan.losesRecords
    switch status.state {
    case .done, .expired: break
    case .incomplete where mayBeIncomplete: break
    // What it was known by is lost.
    case .running where plan.losesNotes: break
    default: fail("\(event.id) is \(status.state)")
    }
    if !plan.losesNotes { checkCounters(index, event, status) }
    if !mayBeIncomplete { checkBooks(index, event, status) }
    guard status.state == .done else { return }
    checkNobodyIsMissing(index, event, status)
    if plan.losesNotes { return }
    if plan.tracesAll { checkTrace(event, status) }
    if world.ask("HLEN", world.keyspace.claims(id: event.id)) != .integer(0) {
      fail("\(event.id) is done, and somebody has claims of it")
    }
  }

  private func checkCounters(_ index: Int, _ event: EventTruth, _ status: FanOutStatus) {
    if status.unread > status.segments || status.unread > 0 && !mayBeUnread(event) {
      fail("\(event.id): followers of \(status.unread) segments were not read")
    }
    if !status.isBalanced { fail("\(event.id) is not balanced: \(Self.words(status))") }
    let distinct = book.distinctAccepted(index)
    // What Apple took and we were not told may have ended otherwise.
    let others =
      status.expired + status.cancelled + status.suppressed
      + status.rejected.values.reduce(0, +)
    // Who gets a device of somebody's while the event goes on may get it on it once more.
    let moved = book.copies.count { $0.event == index && !truth.isStatic($0.device) }
    // A worker died after it had sent, and the record that another was to begin with is lost.
    let mayMiss = plan.losesRecords && status.state == .incomplete || status.unread > 0
    if status.accepted > distinct + moved
      || (!mayMiss && distinct - changed(index, event) > status.accepted + others)
    {
      fail("\(event.id): \(distinct) devices got it, \(Self.words(status))")
    }
    if status.settled != status.segments + status.stragglers, status.state == .done {
      fail("\(event.id) is done: \(Self.words(status)), settled \(status.settled)")
    }
  }

  /// Devices that got it and were given to somebody else, followed no longer, or were called gone
  /// or unusable by Apple, while it went on: who sends again after a crash finds them no more, and
  /// counts what it finds.
  private func changed(_ index: Int, _ event: EventTruth) -> Int {
    let certain = Set(Audience(of: event, truth).certain)
    let entries = book.entries[index] ?? []
    return entries.indices.count {
      entries[$0].accepted > 0 && (!certain.contains($0) || isGone($0, before: event.over))
    }
  }

  /// Everybody who was to get it got it, or is in the counters of those who did not.
  private func checkNobodyIsMissing(
    _ index: Int, _ event: EventTruth, _ status: FanOutStatus
  ) {
    guard event.cancelBegins == .max else { return }
    let audience = Audience(of: event, truth)
    guard status.recipients <= audience.possibleUsers, status.pushes <= audience.possible else {
      return fail(
        "\(event.id) has \(status.recipients) recipients and \(status.pushes) pushes, of "
          + "\(audience.possibleUsers) and \(audience.possible)")
    }
    if status.unread > 0 { return }
    if status.recipients < audience.certainUsers {
      fail(
        "\(event.id) has \(status.recipients) recipients and should have "
          + "\(audience.certainUsers) to \(audience.possibleUsers)")
    }
    let certain = audience.certain.filter { !isGone($0, before: event.over) }
    if status.pushes < certain.count {
      fail(
        "\(event.id) has \(status.pushes) pushes and should have \(certain.count) to "
          + "\(audience.possible)")
    }
    let missing = certain.filter { device in
      let entry = book.entry(index, device)
      return entry.accepted == 0 && entry.refused == 0 && !audience.muted.contains(device)
    }
    // Of Apple's own reasons a worker that died may have left some uncounted.
    let excused =
      status.expired + status.cancelled
      + RejectionReason.ours.reduce(0) { $0 + (status.rejected[$1.name] ?? 0) }
    if missing.count > excused {
      fail(
        "\(event.id) is done, and \(missing.count) devices got nothing (the first: "
          + "\(missing[0])); \(Self.words(status))")
    }
    if status.expired > 0, !mayExpire(event) {
      fail("\(status.expired) pushes of \(event.id) expired, whose time was not over")
    }
  }

  /// Followers whom nobody could read before the event expired are in no counter but that of their
  /// segments, even if a worker that is gone has reached them.
  private func mayBeUnread(_ event: EventTruth) -> Bool {
    mayExpire(event) && faults.any(from: event.begins, to: event.over) { $0.hindersReading }
  }

  /// By a clock that may have been 20 s ahead.
  private func mayExpire(_ event: EventTruth) -> Bool {
    world.wallClock(at: event.over) + 21_000 > event.expiresAt
  }

  private func isGone(_ device: Int, before time: UInt64) -> Bool {
    (book.goneSince[device] ?? .max) < time
  }

  private func checkCopies() {
    // What was under way on a connection that closes is sent again.
    guard !plan.hasClosers else { return }
    for copy in book.copies {
      // Others ask for a claim that has ended every five seconds.
      let isExcused = faults.any(from: copy.first, to: copy.second, after: .seconds(6)) {
        $0.maySendAgain
      }
      if !isExcused {
        fail(
          "device \(copy.device) got e\(copy.event) twice, at \(world.time(copy.first)) and "
            + "\(world.time(copy.second))")
      }
    }
  }

  /// Only Apple's word takes a device away.
  private func checkBindings() {
    guard !plan.losesNotes else { return }
    for device in 0..<truth.devices where truth.isStatic(device) && book.goneSince[device] == nil {
      guard let user = truth.owner(of: device), let known = devices[device] else { continue }
      if !world.holds(world.keyspace.bindings(user: "u\(user)"), known.member) {
        fail("device \(device) is no longer bound to u\(user)")
      }
    }
  }

  private static func words(_ status: FanOutStatus) -> String {
    status.numbers.filter { !$0.key.hasSuffix("_ms") }.sorted { $0.key < $1.key }
      .map { "\($0.key) \($0.value)" }.joined(separator: ", ")
  }
}
