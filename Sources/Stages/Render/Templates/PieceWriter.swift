/// Joins neighbouring pieces of the same kind.
struct PieceWriter {
  private var pieces: [Template.Piece] = []
  private var pendingJSON: [UInt8] = []
  private var pendingText = ""

  mutating func json(_ bytes: [UInt8]) {
    flushText()
    pendingJSON += bytes
  }

  mutating func json(_ text: StaticString) {
    flushText()
    text.withUTF8Buffer { pendingJSON += $0 }
  }

  mutating func text(_ text: String) {
    flushJSON()
    pendingText += text
  }

  mutating func add(_ piece: Template.Piece) {
    flushJSON()
    flushText()
    pieces.append(piece)
  }

  mutating func finish() -> [Template.Piece] {
    flushJSON()
    flushText()
    return pieces
  }

  private mutating func flushJSON() {
    if !pendingJSON.isEmpty { pieces.append(.literal(pendingJSON)) }
    pendingJSON = []
  }

  private mutating func flushText() {
    if !pendingText.isEmpty { pieces.append(.text(pendingText)) }
    pendingText = ""
  }
}
