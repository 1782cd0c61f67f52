extension YAMLNode {
  /// A configuration or template of ours is a few KiB; more than this is refused before a byte is
  /// parsed.
  package static let defaultMaximumBytes = 1_048_576
  package static let defaultMaximumDepth = 32

  /// Parses one document; nil when the text holds none (empty, or comments only).
  ///
  /// Refused besides bad syntax: more than `maximumBytes`, nesting deeper than `maximumDepth`,
  /// anchors and aliases (so that nothing can multiply), tags, keys that are not scalars, a key
  /// twice in one mapping (both places are named), a second document, bytes that are not UTF-8.
  package static func parse(
    _ bytes: UnsafeRawBufferPointer, maximumBytes: Int = defaultMaximumBytes,
    maximumDepth: Int = defaultMaximumDepth
  ) throws(YAMLError) -> YAMLNode? {
    guard bytes.count <= maximumBytes else {
      throw YAMLError(
        code: .tooLarge, message: "\(bytes.count) bytes, at most \(maximumBytes) are read",
        place: YAMLPlace(line: 1, column: 1))
    }
    // Cut off here: libyaml would count the mark as a column, and the first line as indented.
    let mark = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    let text = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(mark))
    var builder = YAMLBuilder(events: try YAMLEvents(text), maximumDepth: maximumDepth)
    return try builder.document()
  }

  package static func parse(
    _ bytes: [UInt8], maximumBytes: Int = defaultMaximumBytes,
    maximumDepth: Int = defaultMaximumDepth
  ) throws(YAMLError) -> YAMLNode? {
    try bytes.withUnsafeBufferPointer { (lent) throws(YAMLError) in
      try parse(
        UnsafeRawBufferPointer(lent), maximumBytes: maximumBytes, maximumDepth: maximumDepth)
    }
  }
}

/// Builds nodes from events. Recursive, bounded by `maximumDepth`.
private struct YAMLBuilder: ~Copyable {
  var events: YAMLEvents
  let maximumDepth: Int

  mutating func document() throws(YAMLError) -> YAMLNode? {
    var root: YAMLNode?
    while true {
      let event = try events.next()
      switch event.kind {
      case .documentStart:
        guard root == nil else {
          throw YAMLError(
            code: .severalDocuments, message: "a second document begins here: only one is read",
            place: event.place)
        }
        root = try node(from: try events.next(), depth: 1)
      case .streamEnd: return root
      default: continue
      }
    }
  }

  private mutating func node(
    from event: YAMLEvents.Event, depth: Int
  ) throws(YAMLError) -> YAMLNode {
    switch event.kind {
    case .scalar(let text, let style):
      return YAMLNode(content: .scalar(text, style), place: event.place)
    case .sequenceStart:
      try checkDepth(depth, at: event.place)
      var nodes: [YAMLNode] = []
      while true {
        let next = try events.next()
        if next.kind == .sequenceEnd { break }
        nodes.append(try node(from: next, depth: depth + 1))
      }
      return YAMLNode(content: .sequence(nodes), place: event.place)
    case .mappingStart:
      try checkDepth(depth, at: event.place)
      return YAMLNode(content: .mapping(try entries(depth: depth)), place: event.place)
    default:
      throw YAMLError(code: .syntax, message: "a value is missing here", place: event.place)
    }
  }

  private mutating func entries(depth: Int) throws(YAMLError) -> [YAMLNode.Entry] {
    var entries: [YAMLNode.Entry] = []
    var places: [[UInt8]: YAMLPlace] = [:]
    while true {
      let event = try events.next()
      if event.kind == .mappingEnd { return entries }
      guard case .scalar(let key, _) = event.kind else {
        throw YAMLError(
          code: .unsupported,
          message: "a key must be a single value, not a list or a mapping: put a text that begins "
            + "with '{' or '[' in quotation marks",
          place: event.place)
      }
      if let first = places.updateValue(event.place, forKey: Array(key.utf8)) {
        throw YAMLError(
          code: .duplicateKey,
          message: "the key `\(YAMLEvents.printable(key))` is given twice, first at line "
            + "\(first.line), column \(first.column)",
          place: event.place)
      }
      let value = try node(from: try events.next(), depth: depth + 1)
      entries.append(YAMLNode.Entry(key: key, keyPlace: event.place, value: value))
    }
  }

  private func checkDepth(_ depth: Int, at place: YAMLPlace) throws(YAMLError) {
    guard depth <= maximumDepth else {
      throw YAMLError(
        code: .tooDeep, message: "nested deeper than \(maximumDepth) levels", place: place)
    }
  }
}
