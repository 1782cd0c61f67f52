import Terminal

/// A line of a screen in pieces of different style. Text from outside is made printable here.
package struct ScreenLine: Sendable, Equatable {
  private struct Piece: Sendable, Equatable {
    let text: String
    let style: Style?
  }

  private var pieces: [Piece] = []

  package init() {}

  package init(_ text: String, _ style: Style? = nil) { add(text, style) }

  package mutating func add(_ text: String, _ style: Style? = nil) {
    pieces.append(Piece(text: TextLayout.printable(text), style: style))
  }

  package var cells: Int { pieces.reduce(0) { $0 + DisplayWidth.cells($1.text) } }

  /// The text, cut to so many cells, in colours where there are any.
  package func text(width: Int, _ paint: Paint) -> String {
    var left = width
    var result = ""
    let isCut = cells > width
    for piece in pieces where left > 0 {
      let size = DisplayWidth.cells(piece.text)
      // The last piece that fits in part ends in an ellipsis.
      let text =
        isCut && size >= left
        ? TextLayout.truncated(piece.text + " ", to: left, ellipsis: paint.unicode ? "…" : "")
        : piece.text
      left -= isCut && size >= left ? left : size
      result += piece.style.map { paint.coloured ? $0.apply(to: text) : text } ?? text
    }
    return result
  }
}

/// The means to draw with.
package struct Paint: Sendable, Equatable {
  package let coloured: Bool
  package let unicode: Bool

  package init(coloured: Bool, unicode: Bool) {
    self.coloured = coloured
    self.unicode = unicode
  }

  package init(_ capabilities: Capabilities) {
    self.init(coloured: capabilities.coloured, unicode: capabilities.unicode)
  }

  /// Between facts of one line.
  var dot: String { unicode ? " · " : " - " }
  var pointer: String { unicode ? "▸ " : "> " }
}
