/// A text of a template taken apart: literal text and placeholders, `{{namespace.name|fallback}}`
/// or with a type before the name, `{{number namespace.name|fallback}}`.
///
/// The name may have spaces around it; the fallback is taken as it stands, up to the first `}}`,
/// and is used when the value is missing or empty. `{{{{` is a literal `{{`; `}}` outside a
/// placeholder is itself. Read by bytes: a combining mark behind a brace makes one Character of
/// both, and must not hide the brace.
struct TemplateText: Equatable {
  enum Namespace: String, CaseIterable {
    case streamer, stream, data, event, recipient, text
  }

  /// The types that a template names.
  enum Keyword: String, CaseIterable {
    case number, integer, boolean, json
  }

  struct Placeholder: Equatable {
    let namespace: Namespace
    let name: String
    let fallback: String?
    /// Written before the name.
    var keyword: Keyword?

    /// Of the values that are numbers wherever they stand alone, those that are never missing.
    private static let times = ["event.occurred_at", "event.expires_at"]

    /// As `Event.fields` spells it.
    var path: String { "\(namespace.rawValue).\(name)" }
    /// Its type alone in the payload; nil: a text.
    var type: ValueType? {
      switch keyword {
      case .number: isBadge ? .wholeNumber : .number
      case .integer: .integer
      case .boolean: .boolean
      case .json: .json
      case nil: isBadge || isTime ? .wholeNumber : nil
      }
    }
    var isBadge: Bool { path == "recipient.badge" }
    /// The event always has it, in whole seconds.
    var isTime: Bool { Self.times.contains(path) }
  }

  enum Part: Equatable {
    case literal(String)
    case placeholder(Placeholder)
  }

  static let maximumNameBytes = 64

  private(set) var parts: [Part] = []
  /// The faults of the text, one message each; such parts are left out.
  private(set) var faults: [String] = []

  /// The one placeholder that the text is.
  var alone: Placeholder? {
    guard parts.count == 1, faults.isEmpty, case .placeholder(let only) = parts[0] else {
      return nil
    }
    return only
  }

  /// The same, if it becomes something else than a text in a payload.
  var typed: Placeholder? { alone.flatMap { $0.type == nil ? nil : $0 } }

  init(_ text: String) {
    let bytes = Array(text.utf8)
    var literal: [UInt8] = []
    var position = 0
    while position < bytes.count {
      guard Self.isPair(Self.open, bytes, at: position) else {
        literal.append(bytes[position])
        position += 1
        continue
      }
      position += 2
      if Self.isPair(Self.open, bytes, at: position) {
        literal += [Self.open, Self.open]
        position += 2
        continue
      }
      guard let end = Self.end(of: bytes, from: position) else {
        faults.append(
          "a placeholder is opened with '{{' and not closed: add '}}', "
            + "or write '{{{{' for a literal '{{'")
        break
      }
      add(literal: &literal)
      add(placeholder: bytes[position..<end])
      position = end + 2
    }
    add(literal: &literal)
  }

  /// Of a placeholder's inside: at the first `}}`. A fallback of JSON has braces of its own.
  private static func end(of bytes: [UInt8], from start: Int) -> Int? {
    let isJSON = bytes[start...].drop { $0 == 0x20 }.starts(with: "json ".utf8)
    var depth = 0
    for position in start..<bytes.count {
      if depth == 0, isPair(close, bytes, at: position) { return position }
      guard isJSON else { continue }
      if bytes[position] == open { depth += 1 }
      if bytes[position] == close { depth -= 1 }
    }
    return nil
  }

  private static let open = UInt8(ascii: "{")
  private static let close = UInt8(ascii: "}")

  private static func isPair(_ byte: UInt8, _ bytes: [UInt8], at position: Int) -> Bool {
    position + 1 < bytes.count && bytes[position] == byte && bytes[position + 1] == byte
  }

  private mutating func add(literal: inout [UInt8]) {
    guard !literal.isEmpty else { return }
    parts.append(.literal(String(decoding: literal, as: UTF8.self)))
    literal = []
  }

  private mutating func add(placeholder inside: ArraySlice<UInt8>) {
    let shown = "{{\(String(decoding: inside, as: UTF8.self))}}"
    let bar = inside.firstIndex(of: UInt8(ascii: "|"))
    var path = inside[..<(bar ?? inside.endIndex)].drop { $0 == 0x20 }
    while path.last == 0x20 { path.removeLast() }
    let keyword = Keyword.allCases.first { path.starts(with: "\($0.rawValue) ".utf8) }
    if let keyword { path = path.dropFirst(keyword.rawValue.utf8.count).drop { $0 == 0x20 } }
    let dot = path.firstIndex(of: UInt8(ascii: ".")) ?? path.endIndex
    let name = path[dot...].dropFirst()
    guard !name.isEmpty, name.count <= Self.maximumNameBytes, name.allSatisfy(Self.isNameByte)
    else {
      faults.append(
        "'\(shown)' is no placeholder: write {{namespace.name}} or {{namespace.name|fallback}}, "
          + "perhaps with number, integer, boolean or json before the name, "
          + "the name of 1…\(Self.maximumNameBytes) bytes without spaces or braces; "
          + "a literal '{{' is '{{{{'"
      )
      return
    }
    let prefix = String(decoding: path[..<dot], as: UTF8.self)
    guard let namespace = Namespace(rawValue: prefix) else {
      let words = prefix.split(separator: " ")
      if words.count == 2, Namespace(rawValue: String(words[1])) != nil {
        let types = Keyword.allCases.map(\.rawValue).joined(separator: ", ")
        faults.append("there is no type '\(words[0])' in '\(shown)': use one of \(types)")
        return
      }
      let known = Namespace.allCases.map(\.rawValue).joined(separator: ", ")
      faults.append("unknown namespace '\(prefix)' in '\(shown)': use one of \(known)")
      return
    }
    let nameText = String(decoding: name, as: UTF8.self)
    if namespace == .event && !["id", "occurred_at", "expires_at"].contains(nameText) {
      faults.append(
        "'\(shown)' is not known: of the event itself {{event.id}}, {{event.occurred_at}} and "
          + "{{event.expires_at}} can be named; the rest of it is {{streamer.…}}, {{stream.…}} and "
          + "{{data.…}}")
      return
    }
    let fallback = bar.map { String(decoding: inside[($0 + 1)...], as: UTF8.self) }
    parts.append(
      .placeholder(
        Placeholder(
          namespace: namespace, name: nameText, fallback: fallback, keyword: keyword)))
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte != 0x7F && byte != open && byte != close
  }
}

extension TemplateText {
  var isLiteral: Bool {
    faults.isEmpty
      && parts.allSatisfy {
        if case .literal = $0 { true } else { false }
      }
  }
}
