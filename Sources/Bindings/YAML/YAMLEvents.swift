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

  /// What is not printable must not reach a log line.
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
