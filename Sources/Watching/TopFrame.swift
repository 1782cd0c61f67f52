import Terminal

/// The whole screen of a live view, made of its state: pure.
package struct TopFrame {
  let machine: TopMachine
  let columns: Int
  let rows: Int
  /// Ms since 1970.
  let now: Int64
  /// Nanoseconds.
  let monotonic: UInt64
  let paint: Paint

  package init(
    _ machine: TopMachine, columns: Int, rows: Int, now: Int64, monotonic: UInt64, paint: Paint
  ) {
    self.machine = machine
    self.columns = max(columns, 1)
    self.rows = max(rows, 3)
    self.now = now
    self.monotonic = monotonic
    self.paint = paint
  }

  /// `rows` lines at most, none wider than `columns`.
  package func lines() -> [String] {
    var lines = machine.mode == .help ? help() : body()
    lines = Array(lines.prefix(rows - 1))
    while lines.count < rows - 1 { lines.append(ScreenLine()) }
    lines.append(footer())
    return lines.map { $0.text(width: columns, paint) }
  }

  // MARK: sections

  private func body() -> [ScreenLine] {
    guard let snapshot = machine.snapshot else {
      let text = machine.trouble ?? "reading Redis"
      return [
        ScreenLine("fanfare top", .bold), ScreenLine(text, machine.trouble.map { _ in .red }),
      ]
    }
    let sections = TopSections(snapshot, width: columns, now: now, paint: paint)
    let fanOuts = fanOutLines(sections)
    let (title, workers) = sections.workers()
    let workerLines = snapshot.workers.isEmpty ? [] : [title] + workers.flatMap { $0 }
    let obstacles = sections.obstacles()
    var parts: [(section: TopMachine.Section, head: String, lines: [ScreenLine], mark: Int)] = [
      (.fanOuts, fanOutHead(snapshot), fanOuts.lines, fanOuts.selected),
      (
        .workers, "WORKERS" + left(snapshot.workersLeftOut),
        workerLines.isEmpty ? [ScreenLine(TopSections.noWorkers)] : workerLines, machine.offset
      ),
    ]
    if !obstacles.isEmpty || machine.section == .obstacles {
      let none = [ScreenLine("  nothing holds up pushes")]
      parts.append(
        (.obstacles, "OBSTACLES", obstacles.isEmpty ? none : obstacles, machine.offset))
    }
    // Where not all fits, the section that has the keys gets the lines that the others leave.
    let free = rows - 2 - parts.count
    let fits = parts.reduce(0) { $0 + $1.lines.count } <= free
    let least = fits ? free : max(1, min(5, free / 5))
    // Titles alone tell nothing: a worker stands below them.
    func fewest(of section: TopMachine.Section) -> Int {
      section == .workers && free > 3 ? max(2, least) : least
    }
    let others = parts.reduce(0) {
      $0 + ($1.section == machine.section ? 0 : min($1.lines.count, fewest(of: $1.section)))
    }
    var lines = [sections.summary(trouble: machine.trouble)]
    for part in parts {
      let hasKeys = part.section == machine.section
      let most = hasKeys ? max(1, free - others) : fewest(of: part.section)
      lines.append(ScreenLine(part.head, hasKeys ? .bold : .dim))
      lines += Self.window(part.lines, most, around: hasKeys ? part.mark : 0)
    }
    return lines
  }

  private func left(_ count: Int) -> String { count > 0 ? " (\(count) more are not shown)" : "" }

  private func fanOutHead(_ snapshot: TopSnapshot) -> String {
    let filter = machine.filter.isEmpty ? "" : ", with \"\(machine.filter)\""
    let order = columns < 60 ? "" : ", by risk of expiry"
    return "FAN-OUTS of the newest \(snapshot.window)\(order)\(filter)"
  }

  private func fanOutLines(_ sections: TopSections) -> (lines: [ScreenLine], selected: Int) {
    let rows = machine.fanOuts
    guard let selection = machine.selection else {
      let none =
        machine.filter.isEmpty ? TopSections.noFanOuts : "  no fan-out has it: Esc shows all"
      return ([ScreenLine(none)], 0)
    }
    var lines: [ScreenLine] = []
    var selected = 0
    for (index, row) in rows.enumerated() {
      if index == selection { selected = lines.count }
      lines += sections.lines(of: row, isSelected: index == selection)
    }
    return (lines, selected)
  }

  /// So many lines, among them the one that is marked and, where they fit, some before it.
  static func window(_ lines: [ScreenLine], _ most: Int, around mark: Int) -> ArraySlice<ScreenLine>
  {
    guard lines.count > most else { return lines[...] }
    let first = max(0, min(mark - most / 3, lines.count - most))
    return lines[first..<first + most]
  }

  // MARK: help and footer

  private func help() -> [ScreenLine] {
    [
      "KEYS", "  up, down, k, j   select a fan-out", "  tab              next section",
      "  /                filter by event or streamer; Esc shows all",
      "  o                operate for 10 minutes, or read-only again",
      "  p, r, c          pause, resume or cancel the selected fan-out",
      "  q, Ctrl-C        quit", "  Ctrl-Z           suspend", "",
      "STATES",
      "  running          pushes get outcomes",
      "  paused           by an operator: by whom and why",
      "  limited          a limit of pushes a second holds it up",
      "  waiting          nothing moved for 10 s, and pushes wait",
      "  incomplete       segments are in the dead letters",
      "", "The rate is that of the last 10 s. The time left follows from it.",
      "An obstacle's time begins when this view saw it first.",
    ].map { ScreenLine($0) }
  }

  private func footer() -> ScreenLine {
    switch machine.mode {
    case .help: return ScreenLine("any key: back")
    case .filtering: return ScreenLine("filter: \(machine.filter)_   Enter keeps it, Esc drops it")
    case .reason(let order, let event, let text):
      return question("reason to \(order.word) \(event): \(text)_")
    case .confirming(.cancel, let event, _, let text):
      return question("cancel \(event) for good? type yes: \(text)_")
    case .confirming(let order, let event, _, _):
      return question("\(order.word) \(event)? y or n")
    case .watching: break
    }
    guard machine.message.isEmpty else { return question(machine.message) }
    let keys =
      columns < 60
      ? "q quit  ? help  / filter  tab"
      : "q quit  \(paint.unicode ? "↑↓" : "j/k") select  tab section  / filter  ? help"
    guard machine.operates(at: monotonic), let end = machine.operatesUntil else {
      return ScreenLine(columns < 60 ? keys : keys + "  o operate", .dim)
    }
    var line = ScreenLine("p pause  r resume  c cancel  ", .yellow)
    line.add("\(Figures.clock(seconds: Int((end - monotonic) / 1_000_000_000))) left  ", .dim)
    line.add(keys, .dim)
    return line
  }

  /// Where the line is too long, its end is shown: it is being typed.
  private func question(_ text: String) -> ScreenLine {
    let text = TextLayout.printable(text)
    let surplus = DisplayWidth.cells(text) - columns
    return ScreenLine(
      machine.message.isEmpty && surplus > 0 ? String(text.dropFirst(surplus)) : text, .yellow)
  }
}
