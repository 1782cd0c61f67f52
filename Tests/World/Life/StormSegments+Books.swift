import Keyspace
import MemoryRedis
import Model
import Record

/// What must hold of a fan-out that workers ask for: its books are what was settled of it.
extension StormSegments {
  /// Once for each segment, when it is settled.
  func note(_ run: Run) {
    let (tally, id) = (run.tally, run.segment.id)
    books.settled.insert(id)
    books.owners[id] = run.owner
    claims.end(id)
    for list in run.lists where planned.insert(list.id).inserted {
      books.waiting += list.stragglers?.pushes.count ?? 0
    }
    books.waiting -= run.segment.stragglers?.pushes.count ?? 0
    if tally.findings.pruned != run.verdicts {
      fail("\(run.owner) has taken \(run.verdicts) devices out, counted \(tally.findings.pruned)")
    }
    let counted = [
      ("accepted", tally.accepted), ("expired", tally.expired), ("pushes", tally.pushes),
      ("recipients", tally.recipients),
      ("rejected:Unregistered", tally.rejections.reduce(0) { $0 + $1.count }),
      ("pruned", tally.findings.pruned - (surplus[run.owner] ?? 0)),
    ]
    for (name, count) in counted { books.counters[name, default: 0] += count }
    if tally.firstPushAt > 0 {
      books.first = books.first == 0 ? tally.firstPushAt : min(books.first, tally.firstPushAt)
      books.last = max(books.last, tally.lastPushAt)
    }
    books.obstacle = tally.obstacle ?? books.obstacle
    for note in tally.notes?.all ?? [] {
      let user = tally.notes?.bytes.string(note.user) ?? ""
      if note.fate == .outcome(.accepted) {
        books.noted.remove(user)
      } else if books.noted.count < Self.noteMaximum {
        books.noted.insert(user)
      } else if !books.noted.contains(user) {
        books.omitted += 1
      }
    }
  }

  func check() {
    guard isOpen else { return }
    let fields = storm.world.hash(space.event(id: event.id))
    func compare(_ name: String, _ wanted: Int) {
      let found = Int(fields[name] ?? "0") ?? -1
      if found != wanted { fail("\(name) is \(found), not \(wanted)") }
    }
    for (name, count) in books.counters.sorted(by: { $0.key < $1.key }) { compare(name, count) }
    compare("waiting", max(books.waiting, 0))
    compare("first_push_ms", Int(books.first))
    compare("last_push_ms", Int(books.last))
    compare("settled", books.settled.count)
    compare("stragglers", planned.count)
    compare("traced", books.noted.count)
    compare("trace_omitted", books.omitted)
    if fields["obstacle"] != books.obstacle { fail("in its way: \(fields["obstacle"] ?? "-")") }
    if (fields["state"] == "done") != isDone { fail("it is \(fields["state"] ?? "nothing")") }
    for segment in books.settled.sorted() {
      let untold = storm.world.members(space.untold(event: event.id, segment: segment))
      if !untold.isEmpty { fail("nobody tells of \(segment) any more: \(untold)") }
    }
  }

  /// Whoever comes last finds each segment, settles what nobody has, and the statistics have all.
  func finish() {
    storm.world.run(atMost: .seconds(11)) { false }
    do {
      try again { try open(by: source) }
      try again { try call { [id] in _ = try await $1.setHalt(nil, of: id, reason: "", now: 0) } }
      if halt == .paused { halt = nil }
      try settleTheRest()
    } catch { fail("\(error)") }
    check()
    let keys = storm.world.keys()
    let audit = StatisticsAudit(storm.world, [(id: event.id, isOver: isDone)], keys)
    for problem in audit.problems { fail(problem) }
    storm.delete { $0.hasPrefix("ff:") || $0.hasPrefix("ffd:{e:") || $0.contains(id) }
  }

  /// Until the last of all has died before it has told the statistics.
  private func settleTheRest() throws {
    for _ in 0..<3 {
      for segment in segments + lists {
        try again { try claim(segment) }
        let index = runs.lastIndex { $0.segment.id == segment.id }
        guard let index, !settled(segment.id) else { continue }
        if segments.count + planned.count - books.settled.count == 1 {
          return try dieLast(index)
        }
        try again { try settle(index) }
      }
    }
  }

  /// Who finds the segment settled, or settles it once more, tells the statistics.
  private func dieLast(_ index: Int) throws {
    let run = runs[index]
    try again { try settle(index, dies: true) }
    if storm.number(1...2) == 1 {
      try again { try claim(run.segment) }
    } else {
      runs.append(Run(segment: run.segment, owner: "w9/9", tally: tally(of: run.segment)))
      runs[runs.count - 1].hasAsked = true
      try again { try settle(runs.count - 1, mayDie: false) }
    }
  }

  private func again(_ body: () throws -> Void) throws {
    for _ in 0..<5 {
      do { return try body() } catch is Died {}
    }
  }
}
