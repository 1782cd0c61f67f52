import Record
import Terminal

/// The lines of each section of a live view. Pure: all that they depend on is given.
package struct TopSections {
  let snapshot: TopSnapshot
  let width: Int
  /// Ms since 1970.
  let now: Int64
  let paint: Paint

  /// From this width on, a fan-out's figures stand beside its name.
  static let wide = 110
  /// From this width on, there is a bar.
  private static let withBar = 70

  package init(_ snapshot: TopSnapshot, width: Int, now: Int64, paint: Paint) {
    self.snapshot = snapshot
    self.width = width
    self.now = now
    self.paint = paint
  }

  // MARK: fan-outs

  /// - Parameter isSelected: nil where nothing can be selected.
  func lines(of row: FanOutRow, isSelected: Bool?) -> [ScreenLine] {
    var name = ScreenLine()
    if let isSelected { name.add(isSelected ? paint.pointer : "  ") }
    name.add(TextLayout.padded(row.state.rawValue, to: 10), style(of: row.state))
    let isWide = width >= Self.wide
    let nameCells = isWide ? 24 : max(8, width - 12 - 10)
    name.add(cut(row.event, to: nameCells, padded: isWide), isSelected == true ? .bold : nil)
    name.add(" " + cut(row.streamer, to: isWide ? 12 : 9, padded: isWide), .dim)
    var lines = [name]
    if isWide {
      lines[0].add(" " + bar(of: row, cells: 16) + " ")
      lines[0].add(figures(of: row, cells: width - lines[0].cells))
    } else {
      var second = ScreenLine("  ")
      if width >= Self.withBar { second.add(bar(of: row, cells: 10) + " ") }
      second.add(figures(of: row, cells: width - second.cells))
      lines.append(second)
    }
    if !row.why.isEmpty { lines.append(ScreenLine("    " + row.why, .dim)) }
    return lines
  }

  private func cut(_ text: String, to cells: Int, padded: Bool) -> String {
    let text = TextLayout.truncated(
      TextLayout.printable(text), to: cells, ellipsis: paint.unicode ? "…" : "")
    return padded ? TextLayout.padded(text, to: cells) : text
  }

  private func bar(of row: FanOutRow, cells: Int) -> String {
    let fraction = row.total.map { $0 > 0 ? min(1, Double(row.done) / Double($0)) : 1 } ?? 0
    return ProgressText.bar(max(0, fraction), cells: cells, unicode: paint.unicode)
  }

  private func style(of state: LiveState) -> Style? {
    switch state {
    case .scheduled, .running: nil
    case .done: .green
    case .paused, .limited, .waiting: .yellow
    case .incomplete, .expired, .unknown: .red
    case .cancelled: .dim
    }
  }

  /// `812,400 of 1,200,000 · 41,000/s · 9 s left · expires in 14 min`; where that is too long, what
  /// matters less is left out.
  private func figures(of row: FanOutRow, cells: Int) -> String {
    let done = Figures.grouped(row.done)
    let count = row.total.map { "\(done) of \(Figures.grouped($0))" } ?? "\(done) so far"
    let choices: [[String?]]
    if row.isFinished {
      let rejected = row.rejected > 0 ? "\(Figures.grouped(row.rejected)) rejected" : nil
      let ended =
        row.endedAt > 0 ? "ended \(Figures.age(milliseconds: now - row.endedAt)) ago" : nil
      choices = [[count, rejected, ended], [count, rejected], [count]]
    } else {
      let rate =
        row.rate.map { Figures.grouped(Int(min($0, 1e15).rounded())) + "/s" } ?? "no rate yet"
      let left = row.secondsLeft.map { Figures.age(milliseconds: Int64($0) * 1000) + " left" }
      let expiry = expiry(of: row)
      choices = [
        [count, rate, left, expiry], [count, left ?? rate, expiry], [count, expiry],
        [count, left ?? rate], [count],
      ]
    }
    let texts = choices.map { $0.compactMap { $0 }.joined(separator: paint.dot) }
    return texts.first { DisplayWidth.cells($0) <= cells } ?? count
  }

  private func expiry(of row: FanOutRow) -> String? {
    guard row.expiresAt > 0 else { return nil }
    let ahead = row.expiresAt - now
    return ahead > 0 ? "expires in \(Figures.age(milliseconds: ahead))" : "past its expiry"
  }

  // MARK: workers

  /// The titles, and behind them one list of lines a worker.
  func workers() -> (title: ScreenLine, rows: [[ScreenLine]]) {
    var columns: [(title: Table.Column, value: (WorkerRow) -> String)] = [
      (.init("WORKER"), \.id), (.init("LAG", .right), { Figures.grouped($0.lag) }),
      (.init("STREAMS", .right), { Figures.grouped($0.streams) }),
      (.init("BEAT", .right), { Figures.age(milliseconds: $0.age(at: now)) }),
    ]
    if width >= 60 {
      columns.insert((.init("READY", .right), { Figures.grouped($0.ready) }), at: 1)
      columns.insert((.init("CONNS", .right), { Figures.grouped($0.connections) }), at: 4)
    }
    if width >= 100 {
      columns.insert((.init("VERSION"), \.version), at: 1)
      columns.insert((.init("RSS", .right), { Figures.bytes($0.residentBytes) }), at: 6)
      columns.append((.init("CLOCK", .right), { clock(of: $0) }))
    }
    var table = Table(columns.map(\.title))
    for worker in snapshot.workers { table.add(columns.map { $0.value(worker) }) }
    let lines = table.text(width: width - 2, unicode: paint.unicode).split(separator: "\n")
    let rows = zip(snapshot.workers, lines.dropFirst()).map { worker, line in
      [ScreenLine("  " + line, worker.isStale(at: now) ? .dim : nil)] + notes(of: worker)
    }
    return (ScreenLine("  " + (lines.first ?? ""), .bold), rows)
  }

  private func clock(of worker: WorkerRow) -> String {
    worker.clockAhead == 0 ? "ok" : "\(worker.clockAhead > 0 ? "+" : "")\(worker.clockAhead) ms"
  }

  private func notes(of worker: WorkerRow) -> [ScreenLine] {
    var notes: [ScreenLine] = []
    if worker.isStale(at: now) {
      notes.append(ScreenLine("    no heartbeat since: it is gone, hangs, or has no Redis", .red))
    }
    for (name, texts) in [
      ("waits for", worker.waitsFor), ("held", worker.heldRoutes), ("limit", worker.limits),
    ] {
      for text in texts { notes.append(ScreenLine("    \(name): \(text)", .yellow)) }
    }
    return notes
  }

  // MARK: obstacles

  func obstacles() -> [ScreenLine] {
    snapshot.obstacles.map { obstacle in
      let age = Figures.clock(seconds: Int(max(0, now - obstacle.seenSince) / 1000))
      let workers = obstacle.workers == 1 ? "1 worker" : "\(obstacle.workers) workers"
      var line = ScreenLine("  \(age)  \(workers)  ", .dim)
      line.add(obstacle.text, .yellow)
      return line
    }
  }

  // MARK: all of it, for what is no terminal

  /// One block of plain lines.
  package func block() -> [String] {
    var lines = [summary(trouble: nil)]
    lines += snapshot.fanOuts.flatMap { self.lines(of: $0, isSelected: nil) }
    if snapshot.fanOuts.isEmpty { lines.append(ScreenLine(Self.noFanOuts)) }
    let (title, rows) = workers()
    lines += snapshot.workers.isEmpty ? [ScreenLine(Self.noWorkers)] : [title] + rows.flatMap { $0 }
    lines += obstacles()
    return lines.map { $0.text(width: .max, paint) }
  }

  static let noFanOuts = "  no fan-out began in the last 7 days"
  static let noWorkers = "  no worker has beaten in the last minute"

  /// `2 of 3 fan-outs go on · 41,000/s · lag 1,204 · 4 workers`
  func summary(trouble: String?) -> ScreenLine {
    let running = snapshot.fanOuts.count { !$0.isFinished }
    let age = max(0, now - snapshot.asOf)
    let workers = snapshot.workers.count + snapshot.workersLeftOut
    var words = [
      "\(running) of \(snapshot.fanOuts.count) fan-outs go on",
      Figures.grouped(Int(min(snapshot.rate, 1e15).rounded())) + "/s",
      "lag \(Figures.grouped(snapshot.lag))",
      workers == 1 ? "1 worker" : "\(workers) workers",
    ]
    if width < 60 { words = ["\(running) go on", words[1]] }
    var line = ScreenLine(words.joined(separator: paint.dot), .bold)
    if let trouble {
      line.add(paint.dot + "data \(Figures.age(milliseconds: age)) old: \(trouble)", .red)
    } else {
      line.add(
        paint.dot + "data \(Figures.age(milliseconds: age)) old",
        age > TopMachine.staleAfterMilliseconds ? .red : .dim)
    }
    return line
  }
}
