/// Fitting text into cells. Text from outside passes `printable` first, so that no name can move
/// the cursor, colour the screen or turn the line around.
package enum TextLayout {
  /// Control characters and those that reorder text become U+FFFD; a tab or a line break becomes a
  /// space.
  package static func printable(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isHostile) else { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\t", "\n", "\r": result.append(" ")
      default: result.append(isHostile(scalar) ? "\u{FFFD}" : scalar)
      }
    }
    return String(result)
  }

  private static func isHostile(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0...0x1F, 0x7F...0x9F, 0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  /// At most `cells` wide; what is cut ends in `ellipsis`. Never splits a character.
  package static func truncated(_ text: String, to cells: Int, ellipsis: String = "…") -> String {
    guard DisplayWidth.cells(text) > cells else { return text }
    let room = max(0, cells - DisplayWidth.cells(ellipsis))
    var result = ""
    var used = 0
    for character in text {
      used += DisplayWidth.cells(character)
      if used > room { break }
      result.append(character)
    }
    return DisplayWidth.cells(ellipsis) <= cells ? result + ellipsis : result
  }

  package enum Alignment: Sendable { case left, right }

  /// Filled with spaces up to `cells`; wider text stays as it is.
  package static func padded(_ text: String, to cells: Int, _ alignment: Alignment = .left)
    -> String
  {
    let fill = String(repeating: " ", count: max(0, cells - DisplayWidth.cells(text)))
    return alignment == .left ? text + fill : fill + text
  }

  /// Lines of at most `cells`, broken at spaces (inside a word only when the word alone is wider).
  /// Line breaks in the text stay; there is always at least one line.
  package static func wrapped(_ text: String, to cells: Int) -> [String] {
    let cells = max(cells, 1)
    var lines: [String] = []
    for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false) {
      var line = ""
      var used = 0
      for word in paragraph.split(separator: " ") {
        let width = DisplayWidth.cells(word)
        if used > 0, used + 1 + width <= cells {
          line += " " + word
          used += 1 + width
          continue
        }
        if used > 0 { lines.append(line) }
        let pieces = width <= cells ? [String(word)] : broken(word, to: cells)
        lines += pieces.dropLast()
        line = pieces.last ?? ""
        used = DisplayWidth.cells(line)
      }
      lines.append(line)
    }
    return lines
  }

  private static func broken(_ word: Substring, to cells: Int) -> [String] {
    var pieces = [""]
    var used = 0
    for character in word {
      let width = DisplayWidth.cells(character)
      if used > 0, used + width > cells {
        pieces.append("")
        used = 0
      }
      pieces[pieces.count - 1].append(character)
      used += width
    }
    return pieces
  }
}
