/// A text of a template taken apart: literal text and placeholders, `{{namespace.name|fallback}}`.
///
/// The name may have spaces around it; the fallback is taken as it stands, up to the first `}}`,
/// and is used when the value is missing or empty. `{{{{` is a literal `{{`; `}}` outside a
/// placeholder is itself. Read by bytes: a combining mark behind a brace makes one Character of
/// both, and must not hide the brace.
struct TemplateText: Equatable {
  enum Namespace: String, CaseIterable {
    case streamer, stream, data, event, recipient, text
  }

  struct Placeholder: Equatable {
    let namespace: Namespace
    let name: String
    let fallback: String?

    /// As `Event.fields` spells it.
    var path: String { "\(namespace.rawValue).\(name)" }
  }

  enum Part: Equatable {
    case literal(String)
    case placeholder(Placeholder)
  }

  static let maximumNameBytes = 64

  private(set) var parts: [Part] = []
  /// What is wrong with the text, one message each; such parts are left out.
  private(set) var faults: [String] = []

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
      guard
        let end = (position..<bytes.count).first(where: { Self.isPair(Self.close, bytes, at: $0) })
      else {
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
    let dot = path.firstIndex(of: UInt8(ascii: ".")) ?? path.endIndex
    let name = path[dot...].dropFirst()
    guard !name.isEmpty, name.count <= Self.maximumNameBytes, name.allSatisfy(Self.isNameByte)
    else {
      faults.append(
        "'\(shown)' is no placeholder: write {{namespace.name}} or {{namespace.name|fallback}}, "
          + "the name of 1…\(Self.maximumNameBytes) bytes without spaces or braces; "
          + "a literal '{{' is '{{{{'"
      )
      return
    }
    let prefix = String(decoding: path[..<dot], as: UTF8.self)
    guard let namespace = Namespace(rawValue: prefix) else {
      let known = Namespace.allCases.map(\.rawValue).joined(separator: ", ")
      faults.append("unknown namespace '\(prefix)' in '\(shown)': use one of \(known)")
      return
    }
    let nameText = String(decoding: name, as: UTF8.self)
    if namespace == .event && nameText != "id" {
      faults.append(
        "'\(shown)' is not known: of the event itself only {{event.id}} can be named; "
          + "the rest of it is {{streamer.…}}, {{stream.…}} and {{data.…}}")
      return
    }
    let fallback = bar.map { String(decoding: inside[($0 + 1)...], as: UTF8.self) }
    parts.append(
      .placeholder(Placeholder(namespace: namespace, name: nameText, fallback: fallback)))
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte != 0x7F && byte != open && byte != close
  }
}
