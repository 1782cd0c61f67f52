import Terminal

/// Where two texts differ: from the first character that is another to the last.
struct TextDifference: Equatable {
  let expected: String
  let actual: String
  /// Characters of `actual` before the difference, and in it; at least one is marked.
  private let begin: Int
  private let length: Int
  /// The differing part of each.
  let removed: String
  let inserted: String

  init(expected: String, actual: String) {
    self.expected = TextLayout.printable(expected)
    self.actual = TextLayout.printable(actual)
    let (old, new) = (Array(self.expected), Array(self.actual))
    let most = min(old.count, new.count)
    let begin = (0..<most).first { old[$0] != new[$0] } ?? most
    let end =
      (0..<(most - begin)).first {
        old[old.count - 1 - $0] != new[new.count - 1 - $0]
      } ?? (most - begin)
    self.begin = begin
    length = max(1, new.count - begin - end)
    removed = String(old[begin..<(old.count - end)])
    inserted = String(new[begin..<(new.count - end)])
  }

  func isSameEdit(as other: TextDifference) -> Bool {
    removed == other.removed && inserted == other.inserted
  }

  /// Both texts, each on a line, and marks under the part of the second that differs.
  func lines(_ first: String, _ second: String) -> [String] {
    let width = max(first.count, second.count) + 2
    let characters = Array(actual)
    let before = DisplayWidth.cells(String(characters.prefix(begin)))
    let marked = DisplayWidth.cells(String(characters.dropFirst(begin).prefix(length)))
    return [
      TextLayout.padded(first, to: width) + expected,
      TextLayout.padded(second, to: width) + actual,
      String(repeating: " ", count: width + before) + String(repeating: "^", count: max(1, marked)),
    ]
  }
}
