import Model

/// Facts about templates for their authors.
extension Template {
  /// A text that a locale lacks.
  package struct BorrowedText: Sendable, Equatable {
    package let locale: String
    package let key: String
  }

  /// A value that the template names, and its type; nil: a text.
  struct Variable: Equatable {
    /// Dotted: `streamer.name`, `recipient.badge`.
    let path: String
    let type: ValueType?
  }

  /// Each once, those of all platforms and locales, by name.
  var variables: [Variable] {
    var found: [Variable] = []
    func note(_ path: String, _ type: ValueType?) {
      guard !found.contains(where: { $0.path == path }) else { return }
      found.append(Variable(path: path, type: type))
    }
    // Types first: the same value may also stand in a text.
    for piece in payloads.flatMap(\.variants).joined() {
      guard case .value(_, let value) = piece else { continue }
      switch value.source {
      case .event(let path): note(path, value.type)
      case .recipient(let field): note("recipient." + recipientFields[field], value.type)
      }
    }
    for piece in payloads.flatMap(\.variants).joined() {
      switch piece {
      case .event(let path, _): note(path, nil)
      case .recipient(let field, _): note("recipient." + recipientFields[field], nil)
      default: break
      }
    }
    for case .placeholder(let placeholder) in collapseID?.parts ?? [] {
      note(placeholder.path, nil)
    }
    return found.sorted { $0.path < $1.path }
  }

  /// The names of all values that the template takes from the event and the profile, dotted and in
  /// alphabetical order.
  package var variableNames: [String] { variables.map(\.path) }

  /// Values of the profile without a fallback that these fields do not have.
  package func missingFields(of person: [String: String]) -> [String] {
    var found: [String] = []
    for piece in payloads.flatMap(\.variants).joined() {
      let field: Int
      switch piece {
      case .recipient(let index, let fallback) where fallback.isEmpty: field = index
      case .value(_, let value):
        guard case .recipient(let index) = value.source, value.fallback == nil else { continue }
        field = index
      default: continue
      }
      let name = recipientFields[field]
      if person[name, default: ""].isEmpty, !found.contains(name) { found.append(name) }
    }
    return found
  }

  /// The settings that are the same for all readers, in the order of the documentation.
  package var settings: [(name: String, value: String)] {
    [
      ("push_type", pushType.rawValue), ("priority", String(priority)),
      ("stored", String(isStored)), ("collapse_id", collapseID.map(Self.written) ?? "none"),
      ("default_locale", defaultLocale),
      ("platforms", payloads.map(\.platform.name).joined(separator: ", ")),
      ("webpush.urgency", urgency?.rawValue ?? "as the priority says"),
    ]
  }

  private static func written(_ text: TemplateText) -> String {
    text.parts.map { part in
      switch part {
      case .literal(let literal): literal
      case .placeholder(let placeholder):
        "{{" + placeholder.path + (placeholder.fallback.map { "|" + $0 } ?? "") + "}}"
      }
    }.joined()
  }

  /// The event with a value for each field that the template names and the event lacks: its own
  /// name in brackets, or a value of the type that the template asks for.
  package func filled(_ event: Event) -> Event {
    var fields = event.fields
    for variable in variables where !variable.path.hasPrefix("recipient.") {
      guard event.value(of: variable.path).isEmpty else { continue }
      fields[variable.path] = variable.sample
    }
    return event.shown(with: fields)
  }

  /// The same of a profile, but for the locale.
  package func filled(person: [String: String]) -> [String: String] {
    var person = person
    let prefix = "recipient."
    for variable in variables where variable.path.hasPrefix(prefix) {
      let name = String(variable.path.dropFirst(prefix.count))
      if name != "locale", person[name, default: ""].isEmpty { person[name] = variable.sample }
    }
    return person
  }
}

extension Template.Variable {
  fileprivate var sample: String {
    switch type {
    case nil: "[\(path)]"
    case .number, .wholeNumber, .integer: "7"
    case .boolean: "true"
    case .json: "{}"
    case .link: "https://example.com/\(path)"
    }
  }
}
