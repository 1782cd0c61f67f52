/// Names and values in two columns, in titled sections: how a run ends.
package struct Summary: Sendable {
  package enum Mark: Sendable { case none, good, bad }

  private struct Row {
    let name: String
    let value: String
    let note: String
    let mark: Mark
    let isHeading: Bool
  }

  private var rows: [Row] = []

  package init() {}

  package mutating func section(_ title: String) {
    let title = TextLayout.printable(title)
    rows.append(Row(name: title, value: "", note: "", mark: .none, isHeading: true))
  }

  /// - Parameters:
  ///   - note: stands behind the value: a unit, a bound, a remark.
  ///   - indent: steps to the right, for parts of the row above.
  package mutating func add(
    _ name: String, _ value: String, note: String = "", mark: Mark = .none, indent: Int = 0
  ) {
    let space = String(repeating: "  ", count: max(0, indent))
    rows.append(
      Row(
        name: "  " + space + TextLayout.printable(name), value: TextLayout.printable(value),
        note: TextLayout.printable(note), mark: mark, isHeading: false))
  }

  package mutating func add(
    _ name: String, _ value: Int, note: String = "", mark: Mark = .none, indent: Int = 0
  ) {
    add(name, Figures.grouped(value), note: note, mark: mark, indent: indent)
  }

  /// Names left, values right in one column for all sections. Where the terminal is too narrow,
  /// notes go to their own lines.
  package func write(to console: Console) {
    let body = rows.filter { !$0.isHeading }
    let names = body.map { DisplayWidth.cells($0.name) }.max() ?? 0
    let values = body.map { DisplayWidth.cells($0.value) }.max() ?? 0
    for (index, row) in rows.enumerated() {
      if row.isHeading {
        if index > 0 { console.line() }
        console.line(console.styled(row.name, .bold))
        continue
      }
      var line = TextLayout.padded(row.name, to: names) + "  "
      let value = TextLayout.padded(row.value, to: values, .right)
      switch row.mark {
      case .none: line += value
      case .good: line += console.styled(value, .green)
      case .bad: line += console.styled(value, .red)
      }
      guard !row.note.isEmpty else {
        console.line(line)
        continue
      }
      let room = console.width - (names + values + 4)
      if !console.capabilities.isTerminal || DisplayWidth.cells(row.note) <= room {
        console.line(line + "  " + console.styled(row.note, .dim))
      } else {
        console.line(line)
        for part in TextLayout.wrapped(row.note, to: max(1, console.width - 6)) {
          console.line("      " + console.styled(part, .dim))
        }
      }
    }
  }
}
