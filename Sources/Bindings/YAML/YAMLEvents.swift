import CYAML

/// libyaml's events as Swift values, one at a time. Owns the parser: freed in `deinit`, on every
/// path.
struct YAMLEvents: ~Copyable {
  enum Kind: Equatable {
    case streamStart, streamEnd, documentStart, documentEnd
    case scalar(String, YAMLNode.Style)
    case sequenceStart, sequenceEnd, mappingStart, mappingEnd
  }

  struct Event {
    let kind: Kind
    let place: YAMLPlace
  }

  /// On the heap, because libyaml keeps pointers into the structure.
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let bytes: UnsafeRawBufferPointer

  /// Borrows `bytes` until the last call of `next()`.
  init(_ bytes: UnsafeRawBufferPointer) throws(YAMLError) {
    self.bytes = bytes
    parser = .allocate(capacity: 1)
    parser.initialize(to: yaml_parser_t())
    guard yaml_parser_initialize(parser) == 1 else {
      parser.deallocate()
      throw YAMLError(
        code: .outOfMemory, message: "no memory for a YAML parser",
        place: YAMLPlace(line: 1, column: 1))
    }
    // Told, not guessed: UTF-16 is refused instead of decoded.
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    // libyaml asserts that its input is not null, even when it is empty; of these 0 bytes it reads
    // none.
    let start = bytes.baseAddress ?? UnsafeRawPointer(parser)
    yaml_parser_set_input_string(parser, start.assumingMemoryBound(to: UInt8.self), bytes.count)
  }

  deinit {
    yaml_parser_delete(parser)
    parser.deallocate()
  }

  mutating func next() throws(YAMLError) -> Event {
    var event = yaml_event_t()
    guard yaml_parser_parse(parser, &event) == 1 else { throw failure() }
    defer { yaml_event_delete(&event) }
    let place = YAMLPlace(event.start_mark)
    let isAnchored: Bool
    let isTagged: Bool
    let kind: Kind
    switch event.type {
    case YAML_SCALAR_EVENT:
      let scalar = event.data.scalar
      (isAnchored, isTagged) = (scalar.anchor != nil, scalar.tag != nil)
      let text = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
      kind = .scalar(
        String(decoding: text, as: UTF8.self),
        scalar.style == YAML_PLAIN_SCALAR_STYLE ? .plain : .quoted)
    case YAML_SEQUENCE_START_EVENT:
      let start = event.data.sequence_start
      (isAnchored, isTagged) = (start.anchor != nil, start.tag != nil)
      kind = .sequenceStart
    case YAML_MAPPING_START_EVENT:
      let start = event.data.mapping_start
      (isAnchored, isTagged) = (start.anchor != nil, start.tag != nil)
      kind = .mappingStart
    default:
      (isAnchored, isTagged) = (event.type == YAML_ALIAS_EVENT, false)
      kind = Self.plainKind(event.type)
    }
    if isAnchored || isTagged {
      let what = isAnchored ? "anchors and aliases (`&`, `*`)" : "tags (`!`)"
      throw YAMLError(
        code: .unsupported, message: "\(what) are not read: write the value out", place: place)
    }
    return Event(kind: kind, place: place)
  }

  private static func plainKind(_ type: yaml_event_type_t) -> Kind {
    switch type {
    case YAML_STREAM_START_EVENT: .streamStart
    case YAML_DOCUMENT_START_EVENT: .documentStart
    case YAML_DOCUMENT_END_EVENT: .documentEnd
    case YAML_SEQUENCE_END_EVENT: .sequenceEnd
    case YAML_MAPPING_END_EVENT: .mappingEnd
    default: .streamEnd
    }
  }

  private func failure() -> YAMLError {
    let failed = parser.pointee
    let problem = failed.problem.map { String(cString: $0) } ?? "this is not YAML"
    switch failed.error {
    case YAML_MEMORY_ERROR:
      return YAMLError(
        code: .outOfMemory, message: "no memory to read this", place: YAMLPlace(failed.mark))
    case YAML_READER_ERROR:
      return YAMLError(
        code: .encoding,
        message: problem.contains("control")
          ? "a control character stands here: take it out, or write it as \\u…"
          : "this is not UTF-8: save the file as UTF-8",
        place: YAMLPlace(bytes.prefix(failed.problem_offset)))
    default:
      let context = failed.context.map { String(cString: $0) } ?? ""
      return YAMLWords(
        bytes, place: YAMLPlace(failed.problem_mark), start: YAMLPlace(failed.context_mark)
      ).error(problem: problem, context: context)
    }
  }

  /// Replaces characters that are not printable: they must not reach a log line.
  static func printable(_ text: String) -> String {
    var clean = String.UnicodeScalarView()
    for scalar in text.unicodeScalars.prefix(64) {
      let category = scalar.properties.generalCategory
      clean.append(category == .control || category == .format ? "?" : scalar)
    }
    return String(clean)
  }
}

extension YAMLPlace {
  fileprivate init(_ mark: yaml_mark_t) {
    self.init(line: Int(mark.line) + 1, column: Int(mark.column) + 1)
  }

  /// The place behind `bytes`: the reader names its failures by their offset.
  fileprivate init(_ bytes: Slice<UnsafeRawBufferPointer>) {
    let lineStart = bytes.lastIndex(of: 0x0A).map { $0 + 1 } ?? bytes.startIndex
    let characters = bytes[lineStart...].count { $0 & 0xC0 != 0x80 }
    self.init(line: bytes.count { $0 == 0x0A } + 1, column: characters + 1)
  }
}

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
    if context.contains("flow") { return ofBrackets() }
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

  private func ofBrackets() -> String {
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

package enum YAMLLibraryVersion {
  /// The libyaml that is loaded at run time: `0.2.5`.
  package static var string: String {
    yaml_get_version_string().map { String(cString: $0) } ?? "unknown"
  }
}
