import Devices
import LocalStack
import Record
import ServerProcesses
import Terminal

/// The ledger of one platform's simulator, held against the audience.
package struct PlatformResult: Sendable {
  let platform: DemoPlatform
  /// Devices of the platform in the audience, the muted ones among them.
  let devices: Int
  let audit: DeliveryAudit
  let ledger: LedgerTotals

  /// Devices reached that ought not to be: muted, dead or unknown ones.
  var wrongly: Int { audit.wrongly + audit.strangers }

  /// `missing` may still have an outcome: the worker settles some pushes without sending them.
  var json: JSONOutput {
    [
      "platform": .text(platform.local.service.name), "devices": .integer(devices),
      "accepted": .integer(ledger.accepted), "reached": .integer(audit.reached),
      "refused": .integer(audit.refused), "gone": .integer(audit.refusedAsDead),
      "missing": .integer(audit.missing), "duplicated": .integer(audit.duplicated),
      "wrongly_reached": .integer(wrongly), "connections": .integer(ledger.connections),
    ]
  }
}

/// The demo's result, for people and for scripts.
package struct DemoReport {
  package let fanOut: MeasuredFanOut
  package let totals: SyntheticAudience.Totals
  package let platforms: [PlatformResult]
  let comparison: CounterComparison

  private var status: FanOutStatus { fanOut.status }

  /// Devices without an outcome, of all platforms.
  package var lost: Int {
    DeliveryAudit.lost(
      missing: platforms.reduce(0) { $0 + $1.audit.missing },
      outcomesWithoutSending: FanOutCounters(status).outcomesWithoutSending)
  }

  /// Devices reached that ought not to be: muted, dead or unknown.
  package var wrongly: Int { platforms.reduce(0) { $0 + $1.wrongly } }

  /// Acceptances beyond the first of a device.
  package var duplicated: Int { platforms.reduce(0) { $0 + $1.audit.duplicated } }

  /// Nothing lost, nobody disturbed, and every number seen by two.
  package var isGood: Bool {
    lost == 0 && wrongly == 0 && fanOut.deadLetters == 0 && comparison.matches
  }

  /// From the append to the first request that reached the push service; nil when none did.
  var firstPushMilliseconds: Double? {
    let first = platforms.map(\.ledger.firstArrival).filter { $0 > 0 }.min()
    return first.map { Double($0 - fanOut.emittedAt) / 1_000 }
  }

  package var pushesPerSecond: Double {
    fanOut.elapsedMilliseconds > 0
      ? Double(fanOut.sentPushes) * 1_000 / fanOut.elapsedMilliseconds : .nan
  }

  private var rejectedTotal: Int { status.rejected.values.reduce(0, +) }

  private var peakMegabytes: Double { Double(fanOut.workerPeakBytes) / 1_048_576 }

  package var json: JSONOutput {
    func object(_ counts: [String: Int]) -> JSONOutput {
      var object = JSONObject()
      for (name, count) in counts.sorted(by: { $0.key < $1.key }) { object[name] = .integer(count) }
      return .object(object)
    }
    return [
      "event": .text(fanOut.event.id), "recipients": .integer(status.recipients),
      "devices": .integer(totals.devices), "pushes": .integer(status.pushes),
      "accepted": .integer(status.accepted), "rejected": object(status.rejected),
      "rejected_total": .integer(rejectedTotal),
      "expired": .integer(status.expired), "cancelled": .integer(status.cancelled),
      "suppressed": .integer(status.suppressed),
      "suppressed_by": object(status.suppressedByRule), "retried": .integer(status.retried),
      "stragglers": .integer(status.stragglers), "waiting": .integer(status.waiting),
      "skipped": .integer(status.skipped),
      "dead_letters": .integer(fanOut.deadLetters), "pruned": .integer(status.pruned),
      "lost": .integer(lost), "duplicated": .integer(duplicated),
      "wrongly_reached": .integer(wrongly),
      "counters_match_ledger": .bool(comparison.matches),
      "platforms": .array(platforms.map(\.json)),
      "first_push_ms": firstPushMilliseconds.map { .number($0) } ?? .null,
      "elapsed_ms": .number(fanOut.elapsedMilliseconds),
      "pushes_per_second": .number(pushesPerSecond, digits: 0),
      "worker_cpu_us_per_push": .number(fanOut.cpuMicrosecondsPerPush),
      "worker_peak_rss_mb": .number(peakMegabytes, digits: 1),
    ]
  }

  // MARK: for people

  package func write(to console: Console) {
    var summary = Summary()
    addOutcomes(to: &summary)
    addProof(to: &summary)
    addSpeed(to: &summary)
    console.line()
    summary.write(to: console)
    console.line()
    console.line(
      isGood
        ? console.styled("Every device has its outcome, once, and every counter agrees.", .green)
        : console.styled("Something is wrong: see the numbers marked above.", .red))
  }

  private func addOutcomes(to summary: inout Summary) {
    summary.section("Outcomes, as Redis counted them")
    summary.add("recipients", status.recipients)
    summary.add("pushes", status.pushes, note: "one for each of their devices")
    summary.add("accepted", status.accepted, indent: 1)
    summary.add("rejected", rejectedTotal, indent: 1)
    for (reason, count) in status.rejected.sorted(by: { $0.key < $1.key }) {
      let isGone = platforms.contains { $0.platform.goneReason == reason }
      let note = isGone ? "the app is gone from the device" : ""
      summary.add(reason, count, note: note, indent: 2)
    }
    if status.expired > 0 { summary.add("expired", status.expired, indent: 1) }
    if status.cancelled > 0 { summary.add("cancelled", status.cancelled, indent: 1) }
    summary.add("suppressed", status.suppressed, indent: 1)
    for (rule, count) in status.suppressedByRule.sorted(by: { $0.key < $1.key }) {
      let note = rule == "muted" ? "their owners muted everything" : ""
      summary.add(rule, count, note: note, indent: 2)
    }
    if status.retried > 0 { summary.add("retried", status.retried, note: "sends beyond the first") }
    if status.stragglers > 0 {
      summary.add(
        "stragglers", status.stragglers, note: "segments of pushes that waited for another try")
    }
    if status.skipped > 0 { summary.add("skipped", status.skipped, note: "not as they should be") }
    if fanOut.deadLetters > 0 { summary.add("dead letters", fanOut.deadLetters, mark: .bad) }
    summary.add("pruned", status.pruned, note: "dead bindings taken out of Redis")
  }

  private func addProof(to summary: inout Summary) {
    summary.section("Held against the push services' ledgers and the audience")
    for result in platforms { add(result, to: &summary) }
    summary.add("lost", lost, mark: lost == 0 ? .good : .bad)
    summary.add("duplicated", duplicated, mark: duplicated == 0 ? .good : .none)
    summary.add(
      "reached wrongly", wrongly, note: "muted, dead or unknown devices",
      mark: wrongly == 0 ? .good : .bad)
    summary.add(
      "counters agree", comparison.matches ? "yes" : "no",
      note: "\(comparison.rows.count) numbers, each seen by two",
      mark: comparison.matches ? .good : .bad)
    for row in comparison.differences {
      let seen = row.witnessed
      let range =
        seen.count == 1
        ? Figures.grouped(seen.lowerBound)
        : "\(Figures.grouped(seen.lowerBound)) to \(Figures.grouped(seen.upperBound))"
      summary.add(
        row.name, row.counted, note: "the \(row.witness.rawValue) says \(range)", mark: .bad,
        indent: 1)
    }
  }

  private func add(_ result: PlatformResult, to summary: inout Summary) {
    let audit = result.audit
    summary.add(
      result.platform.title, result.devices,
      note: "devices, on \(result.ledger.connections) "
        + "connections")
    summary.add("reached", audit.reached, indent: 1)
    summary.add("gone", audit.refusedAsDead, indent: 1)
    if audit.refused > 0 { summary.add("refused", audit.refused, mark: .bad, indent: 1) }
    if audit.missing > 0 { summary.add("not asked for", audit.missing, indent: 1) }
  }

  private func addSpeed(to summary: inout Summary) {
    summary.section("Speed")
    summary.add(
      "first push", firstPushMilliseconds.map { Figures.time(nanoseconds: $0 * 1e6) } ?? "-",
      note: "after the event was appended")
    summary.add(
      "all settled", Figures.time(nanoseconds: fanOut.elapsedMilliseconds * 1e6),
      note: "and recorded")
    summary.add(
      "rate", Figures.grouped(Int(pushesPerSecond.isFinite ? pushesPerSecond : 0)),
      note: "pushes a second")
    summary.add(
      "worker CPU", Figures.time(nanoseconds: fanOut.cpuMicrosecondsPerPush * 1e3),
      note: "a push")
    summary.add("worker memory", Figures.bytes(fanOut.workerPeakBytes), note: "at its peak")
  }
}
