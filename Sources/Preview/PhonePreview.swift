import Model
import Render
import Terminal

/// All locales of a template side by side, as a phone shows them.
///
/// Phones cut texts by the width of their letters, the font that the owner chose, and where the
/// notification stands. The card has what a lock screen of usual size shows: one line for the
/// title, four for the text. A wide letter (CJK, emoji) takes two cells.
package struct PhonePreview {
  private static let cells = 36
  private static let bodyLines = 4
  private static let gap = "  "

  private struct Card {
    let locale: String
    let preview: RenderPreview
    let notes: [String]
  }

  private let template: Template
  private let cards: [Card]
  /// The gaps that all readers see, in words.
  private let notes: [String]

  /// - Throws: where Apple's payload cannot be fitted into its limit.
  package init(
    _ template: Template, _ event: Event, _ person: RenderedPerson, locales: [String]? = nil
  ) throws(CommandFailure) {
    self.template = template
    let preview = TemplatePreview(template, event)
    notes =
      preview.complaints
      + template.missingFields(of: person.fields).map {
        "the profile has no \($0), and it has no fallback: nothing is shown for it"
      }
    var cards: [Card] = []
    for locale in locales ?? template.locales {
      var reader = person
      reader.fields["locale"] = locale
      let shown = try preview.preview(reader)
      let borrowed = template.borrowedTexts.filter { $0.locale == shown.locale }
      cards.append(
        Card(
          locale: locale, preview: shown,
          notes: borrowed.map { "lacks the text \($0.key) and borrows it" }
            + shown.oversized.map { "\($0.platform.name): \($0.problem)" }))
    }
    self.cards = cards
  }

  // MARK: text

  /// - Parameters:
  ///   - width: cells of the terminal.
  ///   - unicode: false: frames of ASCII.
  package func text(width: Int, unicode: Bool = true) -> String {
    let columns = max(1, (width + Self.gap.count) / (Self.cells + 4 + Self.gap.count))
    var text = "\(template.name): \(template.pushType.rawValue)\n"
    var rest = cards.map { lines(of: $0, unicode) }[...]
    while !rest.isEmpty {
      let row = rest.prefix(columns)
      rest = rest.dropFirst(columns)
      for index in 0..<(row.map(\.count).max() ?? 0) {
        var line = row.map { card in
          TextLayout.padded(index < card.count ? card[index] : "", to: Self.cells + 4)
        }.joined(separator: Self.gap)
        while line.last == " " { line.removeLast() }
        text += line + "\n"
      }
      text += "\n"
    }
    for note in notes { text += TextLayout.printable(note) + "\n" }
    return text
  }

  private func lines(of card: Card, _ unicode: Bool) -> [String] {
    let messages = card.preview.messages.map { ($0.platform.name, ShownMessage($0)) }
    var lines = phone(messages[0].1, card.locale, unicode)
    for (platform, shown) in messages.dropFirst() {
      let isSame = shown.title == messages[0].1.title && shown.body == messages[0].1.body
      if !isSame { lines += phone(shown, "\(card.locale), \(platform)", unicode) }
    }
    for message in card.preview.messages {
      let cut = message.isShortened ? ", shortened to fit" : ""
      lines.append("\(message.platform.name) \(message.byteCount) of \(message.limit) bytes\(cut)")
    }
    for note in card.notes {
      lines += TextLayout.wrapped(TextLayout.printable(note), to: Self.cells + 4)
    }
    return lines
  }

  /// A notification in its frame.
  private func phone(_ shown: ShownMessage, _ title: String, _ unicode: Bool) -> [String] {
    let (bar, side, corners) =
      unicode ? ("─", "│", ["┌", "┐", "└", "┘"]) : ("-", "|", ["+", "+", "+", "+"])
    let ellipsis = unicode ? "…" : "..."
    var texts = [shown.title, shown.subtitle].compactMap(\.self).map {
      TextLayout.truncated(TextLayout.printable($0), to: Self.cells, ellipsis: ellipsis)
    }
    if let body = shown.body { texts += Self.cut(TextLayout.printable(body), ellipsis) }
    if shown.isEmpty { texts = ["(nothing is shown)"] }
    let name = TextLayout.truncated(title, to: Self.cells)
    let rule = String(repeating: bar, count: max(0, Self.cells - DisplayWidth.cells(name)))
    return ["\(corners[0]) \(name) \(rule)\(corners[1])"]
      + texts.map { "\(side) \(TextLayout.padded($0, to: Self.cells)) \(side)" }
      + [corners[2] + String(repeating: bar, count: Self.cells + 2) + corners[3]]
  }

  private static func cut(_ body: String, _ ellipsis: String) -> [String] {
    let lines = TextLayout.wrapped(body, to: cells)
    guard lines.count > bodyLines else { return lines }
    let room = cells - DisplayWidth.cells(ellipsis)
    let last = TextLayout.truncated(lines[bodyLines - 1], to: room, ellipsis: "")
    return lines.prefix(bodyLines - 1) + [last + ellipsis]
  }

  // MARK: JSON

  /// One object for each locale.
  package var json: [JSONOutput] {
    cards.map { card in
      var object: Terminal.JSONObject = [
        "template": .text(template.name), "locale": .text(card.locale),
        "used_locale": .text(card.preview.locale),
        "borrowed_texts": .array(
          template.borrowedTexts.filter { $0.locale == card.preview.locale }.map { .text($0.key) }),
        "notes": .array(notes.map { .text($0) }),
      ]
      for message in card.preview.messages {
        let shown = ShownMessage(message)
        object[message.platform.name] = [
          "title": Self.json(shown.title), "subtitle": Self.json(shown.subtitle),
          "body": Self.json(shown.body), "bytes": .integer(message.byteCount),
          "maximum_bytes": .integer(message.limit), "shortened": .bool(message.isShortened),
        ]
      }
      for each in card.preview.oversized {
        object[each.platform.name] = ["problem": .text(each.problem)]
      }
      return .object(object)
    }
  }

  private static func json(_ text: String?) -> JSONOutput { text.map { .text($0) } ?? .null }
}
