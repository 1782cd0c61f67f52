import MemoryRedis
import Record

/// What must hold when a life is over.
extension Oracle {
  func checkEnd(_ statuses: [String: FanOutStatus]) {
    for index in events.indices where events[index].isWritten {
      guard let status = statuses[events[index].id] else {
        fail("nothing is known of \(events[index].id)")
        continue
      }
      check(index, status)
    }
    checkCopies()
    checkBindings()
    if !plan.losesNotes { checkStatistics(statuses) }
    if book.strays > 0 { fail("\(book.strays) pushes name no event") }
  }

  private func check(_ index: Int, _ status: FanOutStatus) {
    let event = events[index]
    let mayBeIncomplete = plan.losesNotes
    switch status.state {
    case .done, .expired: break
    case .incomplete where mayBeIncomplete: break
    default: fail("\(event.id) is \(status.state)")
    }
    if !plan.losesNotes { checkCounters(index, event, status) }
    if status.state == .done { checkNobodyIsMissing(index, event, status) }
  }

  private func checkCounters(_ index: Int, _ event: EventTruth, _ status: FanOutStatus) {
    if !status.isBalanced { fail("\(event.id) is not balanced: \(Self.words(status))") }
    let distinct = book.distinctAccepted(index)
    // What Apple took and we were not told may have ended otherwise.
    let others =
      status.expired + status.cancelled + status.suppressed
      + status.rejected.values.reduce(0, +)
    if status.accepted > distinct || distinct > status.accepted + others {
      fail("\(event.id): \(distinct) devices got it, \(Self.words(status))")
    }
    if status.settled != status.segments + status.stragglers, status.state == .done {
      fail("\(event.id) is done: \(Self.words(status)), settled \(status.settled)")
    }
  }

  /// Everybody who was to get it got it, or is in the counters of those who did not.
  private func checkNobodyIsMissing(
    _ index: Int, _ event: EventTruth, _ status: FanOutStatus
  ) {
    guard event.cancelBegins == .max else { return }
    var missing: [Int] = []
    for device in 0..<truth.devices
    where truth.mustReach(device, of: event.streamer, event.begins, event.over) {
      let entry = book.entry(index, device)
      let isGone = (book.goneSince[device] ?? .max) < event.over
      if entry.accepted == 0, entry.refused == 0, !isGone { missing.append(device) }
    }
    let excused =
      status.expired + status.cancelled + status.suppressed
      + status.rejected.values.reduce(0, +)
      - (book.entries[index] ?? []).count { $0.accepted == 0 && $0.refused > 0 }
    if missing.count > max(excused, 0) {
      fail(
        "\(event.id) is done, and \(missing.count) devices got nothing (the first: "
          + "\(missing[0])); \(Self.words(status))")
    }
  }

  private func checkCopies() {
    for copy in book.copies {
      let isExcused = faults.any(from: copy.first, to: copy.second, after: .seconds(3)) {
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
      let reply = world.ask(
        "SISMEMBER", world.keyspace.bindings(user: "u\(user)"), known.binding.member)
      if reply != .integer(1) { fail("device \(device) is no longer bound to u\(user)") }
    }
  }

  /// The statistics are the sum of the events.
  private func checkStatistics(_ statuses: [String: FanOutStatus]) {
    for counter in [FanOutCounter.accepted, .pushes, .recipients, .expired, .cancelled] {
      let sum = statuses.values.reduce(0) { $0 + $1[counter] }
      let reply = world.ask("HGET", world.keyspace.statsTotal, counter.rawValue)
      let total = if case .bulk(let text) = reply { Int(text.text) ?? 0 } else { 0 }
      if sum != total { fail("the statistics have \(counter.rawValue) \(total), events \(sum)") }
    }
  }

  private static func words(_ status: FanOutStatus) -> String {
    status.numbers.filter { !$0.key.hasSuffix("_ms") }.sorted { $0.key < $1.key }
      .map { "\($0.key) \($0.value)" }.joined(separator: ", ")
  }
}
