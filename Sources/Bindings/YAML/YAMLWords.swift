/// Explains to its writer why a text is no YAML: libyaml says what its scanner expected, which
/// names neither tabs, nor indents, nor quotation marks.
struct YAMLWords {
  /// 1-based: where libyaml stopped.
  let place: YAMLPlace
  /// 1-based: where what it was reading begins.
  let start: YAMLPlace
  private let lines: [Substring]

  init(_ bytes: UnsafeRawBufferPointer, place: YAMLPlace, start: YAMLPlace) {
    self.place = place
    self.start = start
    let text = String(decoding: bytes, as: UTF8.self)
    lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
  }

  /// - Parameter problem: libyaml's words.
  func error(problem: String, context: String) -> YAMLError {
    for place in [place, start] {
      if let column = tab(inIndentOf: place.line) {
        return error(
          "a tab indents this line: YAML indents with spaces",
          at: YAMLPlace(line: place.line, column: column))
      }
    }
    return error(words(problem, context), at: place)
  }

  private func error(_ message: String, at place: YAMLPlace) -> YAMLError {
    YAMLError(code: .syntax, message: message, place: place)
  }

  private func words(_ problem: String, _ context: String) -> String {
    if context.contains("quoted scalar") { return ofQuotes(problem) }
    if let quote = quoteBefore(place) {
      return quote == "'"
        ? "the text ended at the quotation mark before this: write an apostrophe inside '…' twice, "
          + "or put the text in \"…\""
        : "the text ended at the quotation mark before this: write a quotation mark inside \"…\" "
          + "as \\\", or put the text in '…'"
    }
    if context.contains("flow") { return ofBrackets(problem) }
    switch problem {
    case let text where text.contains("cannot start any token"):
      return "a text cannot begin with \(shown(at: place)): put it in quotation marks"
    case let text where text.contains("mapping values are not allowed"):
      return "a ': ' cannot stand here: put a text that has one in quotation marks, and give each "
        + "key a line of its own, indented like its neighbours"
    case let text where text.contains("could not find expected ':'"):
      return "a key needs ': ' behind it; a text over several lines must be indented, or in "
        + "quotation marks"
    case let text where text.contains("block sequence entries are not allowed"):
      return "a '- ' cannot stand here: a list begins on a line of its own, below its key"
    case let text where text.contains("expected '-' indicator"):
      return "this line stands among the items of a list (line \(start.line)) and does not begin "
        + "with '- ' at column \(start.column): indent it like them"
    case let text where text.contains("expected key"), let text where text.contains("block end"):
      return indent
    case let text where text.contains("document start"):
      return "this does not belong to what stands before: indent keys that belong together alike"
    case let text where text.contains("alphabetic or numeric"):
      return "a text cannot begin with \(shown(at: start)): put it in quotation marks"
    case let text
    where context.contains("tag") || context.contains("directive")
      || text.contains("tag"):
      return "a text cannot begin with \(shown(at: start)): put it in quotation marks"
    case let text where context.contains("block scalar") || text.contains("line break"):
      return "a text behind '|' or '>' begins on the next line, indented with spaces"
    case let text where text.contains("mapping keys are not allowed"):
      return "a '? ' cannot stand here: put the text in quotation marks"
    default:
      return "this is no YAML: look at indents, quotation marks and colons here and in the line "
        + "before"
    }
  }

  private var indent: String {
    "this line begins at column \(place.column), and the map that it stands in, of line "
      + "\(start.line), at column \(start.column): indent both alike, and close what was opened "
      + "before"
  }

  private func ofQuotes(_ problem: String) -> String {
    if problem.contains("end of stream") || problem.contains("document indicator") {
      return "the quotation mark of line \(start.line), column \(start.column) is never closed"
    }
    if problem.contains("escape") || problem.contains("hexdecimal") {
      return "in \"…\" a \\ begins an escape such as \\n or \\u2068, and this is none: write \\\\ "
        + "for one, or put the text in '…'"
    }
    return "the text in quotation marks that begins in line \(start.line), column "
      + "\(start.column) cannot go on here"
  }

  private func ofBrackets(_ problem: String) -> String {
    let bracket = character(at: start).map { String($0) } ?? "{"
    let close = bracket == "[" ? "]" : "}"
    return "the '\(bracket)' of line \(start.line), column \(start.column) needs a ',' or a "
      + "'\(close)' before this; a text that begins with '\(bracket)' must be in quotation marks"
  }

  // MARK: the text

  private func tab(inIndentOf line: Int) -> Int? {
    guard lines.indices.contains(line - 1) else { return nil }
    let indent = lines[line - 1].prefix { $0 == " " || $0 == "\t" }
    return indent.firstIndex(of: "\t").map { indent.distance(from: indent.startIndex, to: $0) + 1 }
  }

  /// By Unicode scalars, as libyaml counts.
  private func scalars(before place: YAMLPlace) -> Substring.UnicodeScalarView.SubSequence? {
    guard lines.indices.contains(place.line - 1) else { return nil }
    return lines[place.line - 1].unicodeScalars.prefix(max(0, place.column - 1))
  }

  private func character(at place: YAMLPlace) -> Unicode.Scalar? {
    guard lines.indices.contains(place.line - 1) else { return nil }
    return lines[place.line - 1].unicodeScalars.dropFirst(max(0, place.column - 1)).first
  }

  private func shown(at place: YAMLPlace) -> String {
    guard let character = character(at: place) else { return "what stands here" }
    return "'\(YAMLEvents.printable(String(character)))'"
  }

  /// The quotation mark right before a place, if a text in quotation marks ended there.
  private func quoteBefore(_ place: YAMLPlace) -> Unicode.Scalar? {
    guard let before = scalars(before: place),
      let last = before.reversed().first(where: { $0 != " " }), last == "'" || last == "\""
    else { return nil }
    return last
  }
}
