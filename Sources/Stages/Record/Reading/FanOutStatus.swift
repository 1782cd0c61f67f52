import Model
import Text

/// The hash of an event. A counter that is missing or not a number is 0.
package struct FanOutStatus: Sendable, Equatable {
  package enum State: String, Sendable {
    /// It waits for its `send_at`.
    case scheduled
    case running, done, expired
    /// Nothing more is to come, and segments of it are in the dead letters.
    case incomplete
    /// Something else stands there.
    case unknown
  }

  package let state: State
  package let streamer: String
  package let template: String
  package let source: String
  /// How its followers were divided, as `Plan` writes it.
  let plan: String
  /// The source of another record of the same id, which was not sent; empty where there was none.
  package let duplicate: String
  /// Of which pushes it is kept what became of them: `failures` or `all`; empty: of none.
  package let trace: String
  /// An operator's pause or cancellation; nil while nothing stops it.
  package let halt: Halt?
  /// Why, in words.
  package let haltReason: String
  /// Who stopped it; empty where that is not known, or a worker did.
  package let haltedBy: String
  /// The obstacle of pushes when they became stragglers last; empty when there was none.
  package let obstacle: String
  /// When it is, or was, to be sent; nil: as soon as it was read.
  package let sendAt: SendTime?
  /// Of a scheduled event: the trace that its producer began; empty where it began none.
  package let traceparent: String
  /// Of a scheduled event: why its last release is in the dead letters, as their code; empty where
  /// it is not.
  package let releaseDeadLetter: String
  /// Every number by its field's name, `rejected:<Reason>` and `suppressed:<rule>` among them.
  package let numbers: [String: Int]

  package init(fields: [String: String]) {
    state = State(rawValue: fields["state"] ?? "") ?? .unknown
    streamer = fields["streamer"] ?? ""
    template = fields["template"] ?? ""
    source = fields["source"] ?? ""
    plan = fields["plan"] ?? ""
    trace = fields["trace"] ?? ""
    duplicate = fields["duplicate"] ?? ""
    // Paused while its last pushes had their answers, it came to its end all the same.
    let said = Halt(rawValue: fields["brake"] ?? "")
    let isOver = said == .paused && (state == .done || state == .expired)
    halt = isOver ? nil : said
    haltReason = isOver ? "" : fields["brake_why"] ?? ""
    haltedBy = isOver ? "" : fields["brake_by"] ?? ""
    obstacle = fields["obstacle"] ?? ""
    sendAt = SendTime(storedAt: fields["send_at_ms"], local: fields["send_local_ms"])
    traceparent = fields["traceparent"] ?? ""
    releaseDeadLetter = fields["release_dead_letter"] ?? ""
    numbers = fields.compactMapValues { StoredNumber.read($0).map { Int($0) } }
  }

  /// The fields that are no numbers, by the names that programs are given.
  package var texts: [(name: String, text: String)] {
    [
      ("state", state.rawValue), ("brake", halt?.rawValue ?? ""), ("brake_why", haltReason),
      ("brake_by", haltedBy),
      ("streamer", streamer), ("template", template), ("source", source), ("obstacle", obstacle),
    ] + (sendAt.map { [("send_at", $0.text)] } ?? [])
      + (releaseDeadLetter.isEmpty ? [] : [("release_dead_letter", releaseDeadLetter)])
  }

  /// Whether it reaches the followers of its streamer, in segments that one can tell.
  package var goesByFollowers: Bool {
    guard !plan.isEmpty else { return true }
    switch audience {
    case .sharded?, .plain?, .some(.none): return true
    case .selected?, .named?, nil: return false
    }
  }

  /// The audience that it was opened with; nil where that is not known.
  var audience: Audience? { Plan.audience(plan, segments: String(segments), waves: waves) }

  package subscript(_ counter: FanOutCounter) -> Int { numbers[counter.rawValue] ?? 0 }

  package var segments: Int { self[.segments] }
  /// In how many waves it is sent; one, unless it is for an hour of the readers' clocks.
  package var waves: Int { max(1, numbers["waves"] ?? 1) }
  /// Why a scheduled event is not sent although it is due, for people; nil where nothing is wrong.
  package var releaseProblem: String? {
    releaseDeadLetter.isEmpty ? nil : "its release is in the dead letters: \(releaseDeadLetter)"
  }
  /// Of a scheduled event: when its record was written to Kafka, in ms since 1970; 0: nobody knows.
  package var appendedAt: Int { numbers["appended_ms"] ?? 0 }
  /// When its first wave is due, in ms since 1970; 0 where it is sent as soon as it is read.
  package var dueAt: Int { numbers["send_at_ms"] ?? 0 }
  /// Segments that hold stragglers; they come on top of `segments`.
  package var stragglers: Int { self[.stragglers] }
  /// Segments whose records are in the dead letters.
  package var deadLettered: Int { self[.deadLettered] }
  package var settled: Int { self[.settled] }
  /// Pushes that left their segments as stragglers and have no outcome yet; 0 once it is done.
  package var waiting: Int { self[.waiting] }
  package var recipients: Int { self[.recipients] }
  package var pushes: Int { self[.pushes] }
  package var accepted: Int { self[.accepted] }
  package var expired: Int { self[.expired] }
  package var cancelled: Int { self[.cancelled] }
  package var suppressed: Int { self[.suppressed] }
  package var retried: Int { self[.retried] }
  package var pruned: Int { self[.pruned] }
  package var pruneRefused: Int { self[.pruneRefused] }
  package var quarantined: Int { self[.quarantined] }
  package var skipped: Int { self[.skipped] }
  /// Segments whose followers were not all read before the event expired.
  package var unread: Int { self[.unread] }
  package var recordErrors: Int { self[.recordErrors] }
  /// Pushes, and users without any, of whom is not kept what became of them: they were too many.
  package var traceOmitted: Int { numbers["trace_omitted"] ?? 0 }
  /// Ms since 1970; 0 when it has not happened.
  package var startedAt: Int { self[.started] }
  package var firstPushAt: Int { self[.firstPush] }
  package var lastPushAt: Int { self[.lastPush] }
  package var doneAt: Int { self[.done] }

  /// Counts by Apple's name of the reason.
  package var rejected: [String: Int] { counts(under: "rejected:") }

  /// Counts by the name of the rule that kept the push.
  package var suppressedByRule: [String: Int] { counts(under: "suppressed:") }

  private func counts(under prefix: String) -> [String: Int] {
    var counts: [String: Int] = [:]
    for (field, count) in numbers where field.hasPrefix(prefix) {
      counts[String(field.dropFirst(prefix.count))] = count
    }
    return counts
  }

  /// The promise of the counters: every push that was counted has one outcome, and once all
  /// segments are settled none waits.
  package var isBalanced: Bool {
    (state != .done || waiting == 0)
      && pushes == accepted &+ rejected.values.reduce(0, &+) &+ expired &+ cancelled &+ suppressed
  }
}

extension SendTime {
  /// - Parameters:
  ///   - moment: the hash's field `send_at_ms`; what is no time counts as absent.
  ///   - local: `send_local_ms`, likewise.
  init?(storedAt moment: String?, local: String?) {
    func time(_ text: String?) -> Int64? {
      text.flatMap { Int64($0) }.flatMap { Timestamp.range.contains($0) ? $0 : nil }
    }
    if let local = time(local) {
      self = .local(local)
    } else if let moment = time(moment) {
      self = .at(moment)
    } else {
      return nil
    }
  }
}
