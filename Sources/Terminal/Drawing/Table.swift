/// Rows under column titles, aligned by cells. Every text is made printable here.
package struct Table: Sendable {
  package struct Column: Sendable {
    let title: String
    let alignment: TextLayout.Alignment
    let isWhole: Bool
    /// Numbers stand right, words left.
    /// - Parameter isWhole: never cut, such as an id that somebody copies. Where a line is too long
    ///   all the same, the terminal wraps it.
    package init(
      _ title: String, _ alignment: TextLayout.Alignment = .left, isWhole: Bool = false
    ) {
      self.title = TextLayout.printable(title)
      self.alignment = alignment
      self.isWhole = isWhole
    }
  }

  private let columns: [Column]
  private var rows: [[String]] = []
  private static let gap = 2
  private static let narrowestColumn = 6

  package init(_ columns: [Column]) { self.columns = columns }

  /// Missing cells are empty, surplus ones are dropped.
  package mutating func add(_ cells: [String]) {
    rows.append(columns.indices.map { $0 < cells.count ? TextLayout.printable(cells[$0]) : "" })
  }

  package func write(to console: Console) {
    console.write(
      text(
        width: console.capabilities.isTerminal ? console.width : nil,
        unicode: console.capabilities.unicode
      ) { console.styled($0, .bold) })
  }

  /// - Parameters:
  ///   - width: what the widest left-aligned columns are cut to; nil: nothing is cut.
  ///   - emphasis: how the titles are marked.
  package func text(
    width: Int?, unicode: Bool = true, emphasis: (String) -> String = { $0 }
  ) -> String {
    let widths = widths(within: width)
    let ellipsis = unicode ? "…" : ""
    func line(_ cells: [String]) -> String {
      var result = ""
      for (index, cell) in cells.enumerated() {
        let cut = TextLayout.truncated(cell, to: widths[index], ellipsis: ellipsis)
        result += TextLayout.padded(cut, to: widths[index], columns[index].alignment)
        result += String(repeating: " ", count: Self.gap)
      }
      while result.last == " " { result.removeLast() }
      return result
    }
    return emphasis(line(columns.map(\.title))) + "\n" + rows.map { line($0) + "\n" }.joined()
  }

  private func widths(within limit: Int?) -> [Int] {
    var widths = columns.indices.map { index in
      rows.reduce(DisplayWidth.cells(columns[index].title)) {
        max($0, DisplayWidth.cells($1[index]))
      }
    }
    guard let limit else { return widths }
    var excess = widths.reduce(0, +) + Self.gap * max(0, columns.count - 1) - limit
    while excess > 0 {
      let widest = columns.indices
        .filter { columns[$0].alignment == .left && !columns[$0].isWhole }
        .max { widths[$0] < widths[$1] }
      guard let widest, widths[widest] > Self.narrowestColumn else { break }
      widths[widest] -= 1
      excess -= 1
    }
    return widths
  }
}
