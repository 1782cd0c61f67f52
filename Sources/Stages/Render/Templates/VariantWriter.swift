import Model

/// Writes a payload once for each locale, as the pieces that it is rendered from.
struct VariantWriter {
  let findings: TemplateFindings
  let fields: RecipientFields

  /// One list of pieces per locale.
  /// - Parameter isRequired: false: a payload that is always too long is no mistake; the platform
  ///   gets none then.
  func variants(
    of payload: TemplatePayload, in locales: TemplateLocales, limit: Int,
    platform: Platform = .apns, isRequired: Bool = true
  ) -> [[Template.Piece]] {
    var missing = MissingTexts()
    var variants: [[Template.Piece]] = []
    for index in locales.table.names.indices {
      var writer = PieceWriter()
      write(payload, locale: index, of: locales, to: &writer, &missing)
      let pieces = writer.finish()
      let fixed = Self.fixedBytes(pieces)
      if fixed > limit {
        let message =
          "the payload for locale \(locales.table.names[index]) has \(fixed) bytes without any "
          + "value and \(platform.ownerInSentence) takes \(limit): make it shorter, or let "
          + "'shorten' name a text that may be cut"
        if isRequired {
          findings.report(findings.source.root.place, message)
        } else {
          findings.warn(findings.source.root.place, message)
        }
      }
      variants.append(pieces)
    }
    for text in missing.texts {
      findings.report(
        text.place,
        "there is no text '\(text.key)' in locale \(TemplateFindings.list(text.locales)) "
          + "nor in the default locale: add it to the default locale")
    }
    return variants
  }

  private struct MissingTexts {
    private(set) var texts: [(key: String, place: TemplateSource.Place, locales: [String])] = []

    mutating func add(_ key: String, _ place: TemplateSource.Place, _ locale: String) {
      if let index = texts.firstIndex(where: { $0.key == key && $0.place == place }) {
        texts[index].locales.append(locale)
      } else {
        texts.append((key, place, [locale]))
      }
    }
  }

  private func write(
    _ payload: TemplatePayload, locale: Int, of locales: TemplateLocales,
    to writer: inout PieceWriter, _ missing: inout MissingTexts
  ) {
    switch payload {
    case .json(let bytes): writer.json(bytes)
    case .value, .collapseID: break  // Written with its key, by the map that it is in.
    case .quoted(let value): writer.text(of: value)
    case .language: writer.json(Self.json(locales.table.tag(locale)?.formatted ?? ""))
    case .direction:
      writer.json(locales.table.tag(locale)?.isRightToLeft == true ? "\"rtl\"" : "\"ltr\"")
    case .sequence(let parts):
      for part in parts { write(part, locale: locale, of: locales, to: &writer, &missing) }
    case .text(let text, let place, let isShortened):
      writer.json("\"")
      if isShortened { writer.add(.shortenedBegin) }
      for part in text.parts {
        guard case .placeholder(let placeholder) = part, placeholder.namespace == .text else {
          write(part, at: place, to: &writer)
          continue
        }
        if let found = locales.text(placeholder.name, in: locale) {
          for part in found.text.parts { write(part, at: found.place, to: &writer) }
        } else if let fallback = placeholder.fallback {
          writer.text(fallback)
        } else {
          missing.add(placeholder.name, place, locales.table.names[locale])
        }
      }
      if isShortened { writer.add(.shortenedEnd) }
      writer.json("\"")
    case .list(let items):
      writer.json("[")
      for (index, item) in items.enumerated() {
        if index > 0 { writer.json(",") }
        write(item, locale: locale, of: locales, to: &writer, &missing)
      }
      writer.json("]")
    case .map(let members):
      writer.json("{")
      var isFirst = true
      for (key, value) in members {
        switch value {
        case .value, .collapseID: continue
        default: break
        }
        if !isFirst { writer.json(",") }
        isFirst = false
        writer.json(Self.jsonKey(key))
        write(value, locale: locale, of: locales, to: &writer, &missing)
      }
      // Members that may be left out come last: each brings its own comma when it is there.
      for (key, value) in members {
        if case .collapseID = value { writer.add(.collapseID(key: Self.jsonKey(key))) }
      }
      let values = members.compactMap { (key, value) -> (key: String, value: TemplateValue)? in
        if case .value(let value) = value { (key, value) } else { nil }
      }
      // First those that the event decides on: they are constants by the time that the recipient's
      // are written.
      for (key, value) in values.filter(\.value.isOfEvent)
        + values.filter({ !$0.value.isOfEvent })
      {
        writer.add(.value(key: Self.jsonKey(key), value))
      }
      writer.json("}")
    }
  }

  private func write(
    _ part: TemplateText.Part, at place: TemplateSource.Place, to writer: inout PieceWriter
  ) {
    switch part {
    case .literal(let text): writer.text(text)
    case .placeholder(let placeholder):
      let fallback = placeholder.fallback ?? ""
      switch placeholder.namespace {
      case .recipient:
        let field = fields.index(of: placeholder.name, at: place)
        writer.add(.recipient(field: field, fallback: fallback))
      case .streamer, .stream, .data, .event:
        writer.add(.event(path: placeholder.path, fallback: fallback))
      case .text: break  // Refused where the texts were read.
      }
    }
  }

  /// A key is a text whose `{{{{` stands for `{{` as everywhere.
  private static func jsonKey(_ key: String) -> [UInt8] {
    var literal = ""
    for case .literal(let text) in TemplateText(key).parts { literal += text }
    return json(literal) + [0x3A]
  }

  private static func json(_ text: String) -> [UInt8] {
    [0x22] + JSONEscaping.escaped(text) + [0x22]
  }

  /// Bytes of a payload whose values are all empty, the text that may be shortened left out.
  static func fixedBytes(_ pieces: [Template.Piece]) -> Int {
    var count = 0
    var isShortened = false
    for piece in pieces {
      switch piece {
      case .literal(let bytes): count += bytes.count
      case .text(let text): count += isShortened ? 0 : JSONEscaping.escapedCount(text.utf8)
      case .shortenedBegin: isShortened = true
      case .shortenedEnd: isShortened = false
      case .event, .recipient, .value, .collapseID: break
      }
    }
    return count
  }
}

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

  /// A value as a text, whatever its type.
  mutating func text(of value: TemplateValue) {
    json("\"")
    switch value.source {
    case .event(let path): add(.event(path: path, fallback: value.fallbackText))
    case .recipient(let field): add(.recipient(field: field, fallback: value.fallbackText))
    }
    json("\"")
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
